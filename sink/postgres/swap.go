package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"culvert/sink"
)

// swap is how a new table takes the place of the one that is there. The plan's target is the new one while rows are
// loaded.
type swap struct {
	old     *target
	mark    string              // the comment of the new table
	planned map[string][]string // the statements, as far as they are known before
	alone   bool                // one transaction makes the new table, fills it and swaps it
	kept    bool                // others can see the new table: it is committed
	done    bool                // the ledger says that this load has swapped the table already
}

// planSwap decides how a table is swapped.
func (s *session) planSwap(ctx context.Context, p *plan) (err error) {
	old := p.target
	if err := s.hinders(ctx, old); err != nil {
		return err
	}
	p.swap = &swap{old: old, mark: markOf(old), alone: p.wanted == 1 && !p.EachPart}
	if p.Ledger != nil {
		p.swap.mark += ": load " + p.Ledger.Load
	}
	p.target = p.swap.into()
	p.swap.planned, err = s.swapStatements(ctx, old, p.swap.newName(), "0")
	return err
}

// swapSteps are the statements that change the database.
func (p *plan) swapSteps() []string {
	var steps []string
	if p.Ledger != nil {
		steps = append(steps, ledgerSQL(p.Ledger))
	}
	steps = append(steps, lockSQL(p.swap.old, p.lockMode()))
	steps = append(steps, p.swap.planned[swapBefore]...)
	steps = append(steps, p.copySQL())
	for _, at := range []string{swapRows, swapLocked, swapNamed} {
		steps = append(steps, p.swap.planned[at]...)
	}
	return append(steps, "COMMIT")
}

// markOf is the beginning of the comment by which a table that was left is known.
func markOf(old *target) string { return "culvert: rows that will replace those of table " + old.oid }

// newName is the name of the new table, without its schema.
func (s *swap) newName() string { return "culvert_swap_" + s.old.oid }

// into returns the new table, which has the same columns. It is shown as the old one.
func (s *swap) into() *target {
	t := *s.old
	t.copied, t.shown = s.newName(), s.old.sql
	t.sql = quote(t.schema) + "." + quote(t.copied)
	return &t
}

// beginSwap locks the old table, so that others can only read it, and makes the new one.
func (t *table) beginSwap() error {
	s := t.db.session
	old := t.swap.old
	if err := s.lock(t.ctx, old, t.lockMode()); err != nil {
		return err
	}
	// Before the lock, it could still change.
	if err := s.hinders(t.ctx, old); err != nil {
		return err
	}
	if t.swap.alone {
		t.loaders = []*loader{t.newLoader(s)}
		t.whole = true
		return t.makeNew(s)
	}
	first, err := connect(t.ctx, t.db.config)
	if err != nil {
		return err
	}
	t.loaders = []*loader{t.newLoader(first)}
	if err := first.begin(t.ctx, t.Filling); err != nil {
		return err
	}
	if err := t.makeNew(first); err != nil || t.swap.done {
		return err
	}
	if err := first.writes(t.ctx); err != nil {
		return err
	}
	if err := first.commit(t.ctx, t.db.config); err != nil {
		return err
	}
	t.swap.kept = true
	return t.more(func() (*session, error) { return connect(t.ctx, t.db.config) })
}

// makeNew makes the new table, unless an earlier load has left it and can be continued. What another load has left is
// removed.
func (t *table) makeNew(s *session) error {
	old := t.swap.old
	left, mark, err := s.leftBy(t.ctx, t.target)
	if err != nil {
		return err
	}
	if left != "" && !strings.HasPrefix(mark, markOf(old)) {
		return fmt.Errorf("postgres: table %s: the table %s is in the way: rename it", old.sql, t.target.sql)
	}
	if left != "" && t.EachPart && mark == t.swap.mark {
		t.target.oid = left
		if err := s.lock(t.ctx, t.target, "ROW EXCLUSIVE"); err != nil {
			return err
		}
		if slices.Equal(t.target.all, old.all) {
			t.loaded, err = s.loaded(t.ctx, t.plan)
			return err
		}
	}
	if left == "" && t.Ledger != nil {
		was := *t.plan
		was.target = old
		if t.loaded, err = s.loaded(t.ctx, &was); err != nil || len(t.loaded) > 0 {
			t.swap.done = true
			return err
		}
	}
	return t.makeAnew(s, left != "")
}

// leftBy returns the table of a name, and its comment.
func (s *session) leftBy(ctx context.Context, t *target) (oid, comment string, err error) {
	found, err := s.query(ctx, 2, `SELECT c.oid, coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_class c
		WHERE c.oid = to_regclass($1::text)`, t.sql)
	if err != nil || len(found) == 0 {
		return "", "", s.failed(ctx, "looking for table "+t.sql, err)
	}
	return string(found[0][0]), string(found[0][1]), nil
}

// makeAnew makes the new table without what would slow the rows down.
func (t *table) makeAnew(s *session, left bool) error {
	if left {
		if err := s.exec(t.ctx, "DROP TABLE "+t.target.sql); err != nil {
			return s.failed(t.ctx, "removing table "+t.target.sql+", which an earlier load has left", err)
		}
	}
	statements, err := s.swapStatements(t.ctx, t.swap.old, t.swap.newName(), "0")
	if err != nil {
		return err
	}
	mark := "COMMENT ON TABLE " + t.target.sql + " IS " + literal(t.swap.mark)
	if err := s.runAll(t.ctx, t.target, append(statements[swapBefore], mark)); err != nil {
		return err
	}
	t.target.oid, err = s.one(t.ctx, "SELECT pg_catalog.to_regclass($1::text)::oid", t.target.sql)
	if err != nil {
		return s.failed(t.ctx, "making table "+t.target.sql, err)
	}
	if err := s.check(t.ctx, t.target); err != nil {
		return err
	}
	return s.forget(t.ctx, t.plan)
}

// errSwapped is the error of a load whose ledger has parts of the table as it is.
var errSwapped = errors.New("the ledger says that parts of this load are in the table already; " +
	"go on without swapping it, or remove them from the ledger")

// commitSwap completes the new table, and has it take the place of the old one. All of it is one transaction, except
// the rows of several loaders, which are committed before in the new table.
func (t *table) commitSwap() error {
	if t.swap.done {
		return nil
	}
	s := t.db.session
	for _, l := range t.loaders {
		if l.s.conn.TxStatus() == 'I' {
			continue // it has loaded nothing, or all its parts are committed
		}
		if err := l.s.exec(t.ctx, "SET CONSTRAINTS ALL IMMEDIATE"); err != nil {
			return l.s.rowFailed(t.ctx, t.target, err)
		}
		if err := l.s.writes(t.ctx); err != nil {
			return err
		}
		if l.s == s {
			continue
		}
		if err := l.s.commit(t.ctx, t.db.config); err != nil {
			return err
		}
	}
	statements, err := s.swapStatements(t.ctx, t.swap.old, t.swap.newName(), t.target.oid)
	if err != nil {
		return err
	}
	for _, at := range []string{swapRows, swapLocked, swapNamed} {
		for _, sql := range statements[at] {
			if err := s.params(t.ctx, sql).Err; err != nil {
				return s.swapFailed(t, sql, err)
			}
		}
	}
	if t.Ledger != nil {
		if err := s.moveLedger(t.ctx, t.plan); err != nil {
			return err
		}
	}
	if err := s.writes(t.ctx); err != nil {
		return err
	}
	if err := s.commit(t.ctx, t.db.config); err != nil {
		return err
	}
	t.swap.kept = false
	return nil
}

// swapFailed explains an error of a statement of a swap. Rows that violate a constraint are noticed only here.
func (s *session) swapFailed(t *table, sql string, err error) error {
	if refused := s.rowFailed(t.ctx, t.target, err); isRowError(refused) {
		return refused
	}
	return s.failed(t.ctx, "swapping table "+t.swap.old.sql+": "+sink.Shorten(sql), err)
}

func isRowError(err error) bool {
	_, is := errors.AsType[*sink.RowError](err)
	return is
}

// moveLedger has the ledger say that the parts of the new table are in the place of the old one.
func (s *session) moveLedger(ctx context.Context, p *plan) error {
	_, name := ledgerName(p.Ledger)
	err := s.params(ctx, "DELETE FROM "+name+" WHERE table_name = $1", p.swap.old.sql).Err
	if err == nil {
		err = s.params(ctx, "UPDATE "+name+" SET table_name = $1 WHERE table_name = $2", p.swap.old.sql,
			p.target.sql).Err
	}
	return s.failed(ctx, "changing the ledger", err)
}

// removal is how long removing the new table may take after a failure, also when the caller has ended.
const removal = 30 * time.Second

// dropNew removes the new table after a failure, unless it has taken its place, or its parts are to be kept.
func (t *table) dropNew() error {
	if t.swap == nil || !t.swap.kept || t.EachPart {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), removal)
	defer cancel()
	err := t.drop(ctx)
	if err != nil {
		return fmt.Errorf("postgres: the table %s remains, until the next load that swaps removes it: %w",
			t.target.sql, err)
	}
	return nil
}

func (t *table) drop(ctx context.Context) error {
	s, err := connect(ctx, t.db.config)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.begin(ctx, t.Filling); err != nil {
		return err
	}
	oid, mark, err := s.leftBy(ctx, t.target)
	if err != nil || oid != t.target.oid || mark != t.swap.mark {
		return err
	}
	if err := s.forget(ctx, t.plan); err != nil {
		return err
	}
	if err := s.exec(ctx, "DROP TABLE "+t.target.sql); err != nil {
		return s.failed(ctx, "removing it", err)
	}
	if err := s.writes(ctx); err != nil {
		return err
	}
	return s.commit(ctx, t.db.config)
}
