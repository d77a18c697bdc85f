package fill

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"culvert/internal/lazyregexp"
	"culvert/postgres/internal/pgdump"
	"culvert/postgres/internal/sqltext"
	"culvert/sink"
)

// step runs groups of statements over several sessions, each group in its order. It returns the statements that failed.
// Those that have met another one, in a lock, are run again alone.
func (r *restoration) step(
	ctx context.Context, sessions []*session, groups [][]int,
) (failed []sink.StatementError, err error) {
	var mu sync.Mutex
	var again []int
	left := groups
	take := func() (places []int) {
		mu.Lock()
		defer mu.Unlock()
		// Groups that are sent together need one round trip. But at the end, no session should have many alone.
		n := max(1, len(left)/(4*len(sessions)))
		for len(left) > 0 && n > 0 && len(places) < statementsAtOnce {
			places = append(places, left[0]...)
			left, n = left[1:], n-1
		}
		return places
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, s := range sessions[:min(len(sessions), len(groups))] {
		group.Go(func() error {
			for places := take(); len(places) > 0; places = take() {
				errs, err := r.run(groupCtx, s, places)
				if err != nil {
					return err
				}
				mu.Lock()
				for i, err := range errs {
					switch {
					case err != nil && hasMet(err):
						again = append(again, places[i])
					case err != nil:
						failed = append(failed, r.statementError(ctx, s, places[i], err))
					}
				}
				mu.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil || len(again) == 0 {
		return failed, err
	}
	slices.Sort(again)
	errs, err := r.run(ctx, sessions[0], again)
	for i, one := range errs {
		if one != nil {
			failed = append(failed, r.statementError(ctx, sessions[0], again[i], one))
		}
	}
	return failed, err
}

func (r *restoration) statementError(ctx context.Context, s *session, place int, err error) sink.StatementError {
	sql := r.statements[place].SQL
	return sink.StatementError{SQL: sql, Err: s.failed(ctx, "making the database", err)}
}

// hasMet reports whether a statement has failed because of one in another session.
func hasMet(err error) bool {
	refused, is := errors.AsType[*pgconn.PgError](err)
	return is && (refused.Code == codeDeadlock || refused.Code == codeLockNotAvailable)
}

// setting matches one of the settings with which a transaction begins.
var setting = lazyregexp.New(`SET LOCAL (\w+) = '?([^;']*)'?;`)

// stepSettings returns a statement that makes all settings of a transaction of the session, and pgdump.Settings, so
// that it can be sent together with others.
func (s *session) stepSettings() string {
	var list []string
	for _, match := range setting.FindAllStringSubmatch(s.beginSQL()+pgdump.Settings, -1) {
		list = append(list, "pg_catalog.set_config('"+match[1]+"', '"+match[2]+"', true)")
	}
	return "SELECT " + strings.Join(list, ", ") + `,
	CASE WHEN pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL
		THEN pg_catalog.set_config('transaction_timeout', '0', true) END`
}

// unit are the places of statements that are run in one transaction.
type unit []int

// sharedStatements is how many statements share a transaction at most.
const sharedStatements = 16

// units shares statements among transactions. Those that are done at once share one, since it takes about as long as
// they do; each of the others has one of its own, since it would be lost with the transaction.
func (r *restoration) units(places []int) (units []unit) {
	shared := func(place int) bool { return r.isQuick(r.statements[place].SQL) }
	for _, place := range places {
		last := len(units) - 1
		if last >= 0 && len(units[last]) < sharedStatements && shared(place) && shared(units[last][0]) &&
			r.methods[units[last][0]] == r.methods[place] {
			units[last] = append(units[last], place)
		} else {
			units = append(units, unit{place})
		}
	}
	return units
}

// isQuick reports whether a statement takes no time: it is of a small table, or sets a sequence.
func (r *restoration) isQuick(sql string) bool {
	if match := ofTable.FindStringSubmatch(sql); match != nil {
		return r.small[match[1]+match[2]]
	}
	return isSetval.MatchString(sql)
}

// smallSQL returns the tables with at most a megabyte, as pg_dump names them.
const smallSQL = `
SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND pg_relation_size(c.oid) <= 1048576`

// run runs statements, and sends up to statementsAtOnce before it reads what has become of them. Statements that fail
// in a transaction that others share are run again alone. It returns an error for each, or nil, or that of the session.
func (r *restoration) run(ctx context.Context, s *session, places []int) (errs []error, err error) {
	units := r.units(places)
	failed, err := r.runUnits(ctx, s, units)
	if err != nil {
		return nil, err
	}
	var again []unit
	for i, u := range units {
		if len(u) > 1 && failed[i] != nil {
			for _, place := range u {
				again = append(again, unit{place})
			}
		}
	}
	alone, err := r.runUnits(ctx, s, again)
	if err != nil {
		return nil, err
	}
	for i, u := range units {
		if len(u) > 1 && failed[i] != nil {
			errs, alone = append(errs, alone[:len(u)]...), alone[len(u):]
			continue
		}
		for range u {
			errs = append(errs, failed[i])
		}
	}
	return errs, nil
}

// runUnits runs each unit in a transaction. It returns an error for each, or nil, or that of the session.
func (r *restoration) runUnits(ctx context.Context, s *session, units []unit) (errs []error, err error) {
	settings := s.stepSettings()
	for len(units) > 0 {
		n, statements := 0, 0
		for n < len(units) && statements < statementsAtOnce {
			statements += len(units[n])
			n++
		}
		some := units[:n]
		units = units[n:]
		pipeline := s.conn.StartPipeline(ctx)
		for _, u := range some {
			pipeline.SendQueryParams(settings, nil, nil, nil, nil)
			if method := r.methods[u[0]]; method != "" {
				pipeline.SendQueryParams(method, nil, nil, nil, nil)
			}
			var hashes []string
			for _, place := range u {
				hashes = append(hashes, hashOf(r.statements[place].SQL))
			}
			pipeline.SendQueryParams(recordAllSQL, valuesOf([]string{r.load, sqltext.Array(hashes)}), nil, nil, nil)
			for _, place := range u {
				pipeline.SendQueryParams(r.statements[place].SQL, nil, nil, nil, nil)
			}
			pipeline.SendPipelineSync()
		}
		err := pipeline.Flush()
		for _, u := range some {
			if err != nil {
				break
			}
			var one error
			one, err = r.result(pipeline, len(u) > 1)
			errs = append(errs, one)
		}
		if closing := pipeline.Close(); err == nil && s.conn.IsClosed() {
			err = closing
		}
		if err != nil {
			return errs, s.failed(ctx, "making the database", err)
		}
	}
	return errs, nil
}

// result reads what has become of the next transaction of a pipeline: the error of its statement, and that of the
// session. A statement that is recorded has been run by another process meanwhile.
func (r *restoration) result(pipeline *pgconn.Pipeline, shared bool) (failed, err error) {
	recorded := false
	for {
		results, err := pipeline.GetResults()
		switch results := results.(type) {
		case *pgconn.PipelineSync:
			return failed, nil
		case *pgconn.ResultReader:
			_, err = results.Close()
		case nil:
			if err == nil {
				return nil, errAnswer
			}
		}
		refused, is := errors.AsType[*pgconn.PgError](err)
		switch {
		case err == nil || recorded:
		case !is:
			return nil, err
		case refused.SchemaName == restoring && refused.Code == codeUniqueViolation:
			if recorded = true; shared {
				failed = refused // the others are not
			}
		case failed == nil:
			failed = refused
		}
	}
}
