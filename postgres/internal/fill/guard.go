package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// guard is a connection that waits for the loaders with a lock, so that every other session that wants to write has to
// wait behind it.
type guard struct {
	s      *session
	cancel context.CancelFunc
	ended  chan struct{} // closed when it no longer waits
	err    error         // why it does not wait
}

// beginGuard opens further connections for loaders, which lock the table, and then has the guard wait. When it returns,
// nobody else can write into the table, and all sessions that could have written before are gone. If the server accepts
// too few connections for that, one loader locks the table alone.
func (t *table) beginGuard() error {
	t.addLoader(t.db.session)
	// The loaders must not take the last connection from the guard.
	s, err := connect(t.ctx, t.db.config)
	if t.alone = tooMany(err); t.alone != "" {
		return t.lockAlone()
	}
	if err != nil {
		return err
	}
	if err := t.more(t.connect); err != nil || len(t.loaders) == 1 {
		s.close()
		if err != nil {
			return err
		}
		return t.lockAlone()
	}
	t.guard = &guard{s: s, ended: make(chan struct{})}
	var ctx context.Context
	ctx, t.guard.cancel = context.WithCancel(t.ctx)
	if err := s.begin(ctx, t.Filling); err != nil {
		close(t.guard.ended)
		return err
	}
	go t.guard.wait(ctx, t.target)
	return t.guarded()
}

// lockAlone takes the lock of a table that one connection fills.
func (t *table) lockAlone() error {
	t.wanted = 1
	return t.db.session.lock(t.ctx, t.target, t.lockMode())
}

// tooMany is the reason for fewer connections if the server has refused one because it has too many; otherwise "".
func tooMany(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == codeTooManyConnections {
		return "the server accepts no more connections"
	}
	return ""
}

// wait requests the lock, until all loaders have ended.
func (g *guard) wait(ctx context.Context, t *target) {
	defer close(g.ended)
	g.err = g.s.exec(ctx, "SET LOCAL lock_timeout = 0; "+lockSQL(t, "SHARE"))
}

// end has the guard no longer wait.
func (g *guard) end() {
	g.cancel()
	<-g.ended
	g.s.close()
}

// guarded waits until the guard waits for the loaders alone, for as long as for any lock. It fails if the guard's
// session has ended, so that others could have written.
func (t *table) guarded() error {
	ctx, cancel := context.WithTimeout(t.ctx, t.Timeout())
	defer cancel()
	var own []string
	for _, l := range t.loaders {
		own = append(own, l.s.pid)
	}
	next := time.NewTicker(5 * time.Millisecond)
	defer next.Stop()
	var others []string
	for {
		found, err := t.db.session.one(t.ctx, "SELECT pg_catalog.array_to_string(pg_catalog.pg_blocking_pids($1), ' ')",
			t.guard.s.pid)
		if err != nil {
			return t.db.session.failed(t.ctx, "waiting for other sessions", err)
		}
		blocking := strings.Fields(found)
		others = slices.DeleteFunc(blocking, func(pid string) bool { return slices.Contains(own, pid) })
		if len(others) == 0 && found != "" {
			return nil
		}
		select {
		case <-next.C:
		case <-t.guard.ended:
			return t.guard.s.failed(t.ctx, "locking table "+t.target.sql, errors.Join(t.guard.err, errNoGuard))
		case <-ctx.Done():
			if err := t.ctx.Err(); err != nil {
				return fmt.Errorf("postgres: waiting for other sessions: %w", err)
			}
			return t.db.session.locked(fmt.Errorf("table %s: other sessions write into it: %s",
				t.target.sql, strings.Join(others, ", ")))
		}
	}
}

var errNoGuard = errors.New("the lock that keeps others from writing is not held")

// undo deletes the rows that loaders have committed, and their parts in the ledger.
func (t *table) undo(committed []*loader) error {
	if len(committed) == 0 {
		return nil
	}
	t.guard.end() // it would get the lock now
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), undoTimeout)
	defer cancel()
	err := t.deleteOf(ctx, committed)
	if err != nil {
		return fmt.Errorf("postgres: table %s has a part of the rows, which cannot be deleted: %w", t.target.sql, err)
	}
	return nil
}

// undoTimeout is how long deleting rows again may take, since it also has to be done when the caller has ended.
const undoTimeout = 10 * time.Minute

func (t *table) deleteOf(ctx context.Context, committed []*loader) error {
	s, err := connect(ctx, t.db.config)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.begin(ctx, t.Filling); err != nil {
		return err
	}
	for _, l := range committed {
		own, err := l.s.own()
		if err == nil {
			err = s.exec(ctx, "DELETE FROM "+t.target.sql+" WHERE "+own)
		}
		if err == nil && t.Ledger != nil {
			_, name := ledgerName(t.Ledger)
			err = s.exec(ctx, "DELETE FROM "+name+" WHERE "+own)
		}
		if err != nil {
			return s.failed(ctx, "deleting rows", err)
		}
	}
	if err := s.writes(ctx); err != nil {
		return err
	}
	return s.commit(ctx, t.db.config)
}
