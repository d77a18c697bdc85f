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

// run runs statements, each in a transaction of its own, and sends up to statementsAtOnce before it reads what has
// become of them. It returns an error for each, or nil, or that of the session.
func (r *restoration) run(ctx context.Context, s *session, places []int) (errs []error, err error) {
	settings := s.stepSettings()
	for some := range slices.Chunk(places, statementsAtOnce) {
		pipeline := s.conn.StartPipeline(ctx)
		for _, place := range some {
			pipeline.SendQueryParams(settings, nil, nil, nil, nil)
			if r.methods[place] != "" {
				pipeline.SendQueryParams(r.methods[place], nil, nil, nil, nil)
			}
			sql := r.statements[place].SQL
			pipeline.SendQueryParams(recordSQL, [][]byte{[]byte(r.load), []byte(hashOf(sql))}, nil, nil, nil)
			pipeline.SendQueryParams(sql, nil, nil, nil, nil)
			pipeline.SendPipelineSync()
		}
		err := pipeline.Flush()
		for range some {
			if err != nil {
				break
			}
			var one error
			one, err = r.result(pipeline)
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
func (r *restoration) result(pipeline *pgconn.Pipeline) (failed, err error) {
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
			recorded = true
		case failed == nil:
			failed = refused
		}
	}
}
