package fill

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/lazyregexp"
	"culvert/postgres/internal/pgdump"
	"culvert/sink"
)

// statementsAtOnce is how many statements are sent before their results are read.
const statementsAtOnce = 64

// isSessionState matches the statements that set what those after them depend on, in their session.
var isSessionState = lazyregexp.New(`^(?:RE)?SET `)

// before runs the statements that come before the rows, or those that are left of them: in one transaction, unless it
// would hold too many locks. It reports whether all are run when the transaction is committed.
func (r *restoration) before(ctx context.Context) (ended bool, err error) {
	s := r.db.session
	most, err := r.most(ctx)
	if err != nil {
		return false, err
	}
	var earlier, some []string
	for _, one := range r.statements {
		switch {
		case one.After:
		case len(earlier) < r.made:
			earlier = append(earlier, one.SQL)
		default:
			some = append(some, one.SQL)
		}
	}
	if ended = len(some) <= most; !ended {
		some = some[:most]
	}
	if err := r.begin(ctx, len(some), ended); err != nil {
		return false, err
	}
	earlier = slices.DeleteFunc(earlier, func(sql string) bool { return !isSessionState.MatchString(sql) })
	if err := r.runBefore(ctx, slices.Concat(earlier, some)); err != nil {
		return false, err
	}
	r.made += len(some)
	return ended, s.failed(ctx, "setting up the session", s.exec(ctx, "RESET SESSION AUTHORIZATION"))
}

// most returns how many statements a transaction may run. Each table that is made has up to three locks until its end,
// with those of what is stored beside it, and all sessions share a lock table.
func (r *restoration) most(ctx context.Context) (int, error) {
	s := r.db.session
	answer, err := s.one(ctx, `
SELECT current_setting('max_locks_per_transaction')::int8
	* (current_setting('max_connections')::int8 + current_setting('max_prepared_transactions')::int8) / 6`)
	if err != nil {
		return 0, s.failed(ctx, "asking for the size of the lock table", err)
	}
	most, err := strconv.Atoi(answer)
	if err != nil {
		return 0, errAnswer
	}
	return max(most, statementsAtOnce), nil
}

// begin records that further statements are run, or all, and sets up the transaction for them.
func (r *restoration) begin(ctx context.Context, further int, ended bool) error {
	s := r.db.session
	if err := s.writes(ctx); err != nil {
		return err
	}
	if r.made == 0 {
		if err := s.exec(ctx, makeRestoringSQL); err != nil {
			if _, refused := errors.AsType[*pgconn.PgError](err); refused {
				return r.failed(ctx, s, "CREATE SCHEMA "+restoring, err)
			}
			return s.failed(ctx, "making the schema "+restoring, err)
		}
	}
	done := begun
	if !ended {
		done = madeBefore + strconv.Itoa(r.made+further)
	}
	if err := s.params(ctx, recordSQL, r.load, done).Err; err != nil {
		return s.failed(ctx, "recording the load", err)
	}
	return s.failed(ctx, "setting up the session", s.exec(ctx, pgdump.Settings))
}

// runBefore runs statements in the transaction.
func (r *restoration) runBefore(ctx context.Context, all []string) error {
	s := r.db.session
	for some := range slices.Chunk(all, statementsAtOnce) {
		var batch pgconn.Batch
		for _, sql := range some {
			batch.ExecParams(sql, nil, nil, nil, nil)
		}
		succeeded := 0
		results := s.conn.ExecBatch(ctx, &batch)
		for results.NextResult() {
			if _, err := results.ResultReader().Close(); err == nil {
				succeeded++
			}
		}
		err := results.Close()
		switch {
		case err == nil:
		case ctx.Err() != nil || succeeded >= len(some) || s.conn.IsClosed():
			return s.failed(ctx, "making the schema", err)
		default:
			return r.failed(ctx, s, some[succeeded], err)
		}
	}
	return nil
}

// failed is the error of a statement before the rows.
func (r *restoration) failed(ctx context.Context, s *session, sql string, err error) error {
	err = s.failed(ctx, "making the database", err)
	return &sink.StatementsError{Before: true, Kept: r.made, Failed: []sink.StatementError{{SQL: sql, Err: err}}}
}
