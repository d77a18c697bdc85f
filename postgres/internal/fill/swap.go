package fill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
)

// swap is how a new table takes the place of the one that is there. The plan's target is the new one while rows are
// loaded.
type swap struct {
	old     *target
	mark    string              // the comment of the new table, from when it is made
	planned map[string][]string // the statements, as far as they are known before
	alone   bool                // one transaction makes the new table, fills it and swaps it
	kept    bool                // others can see the new table: it is committed
	done    bool                // the ledger says that this load has swapped the table already
}

// planSwap decides how a table is swapped.
func (s *session) planSwap(ctx context.Context, p *plan) (err error) {
	old := p.target
	if err := s.hinders(ctx, old, p.Grouped); err != nil {
		return err
	}
	p.swap = &swap{old: old, mark: markOf(old), alone: p.wanted == 1 && !p.EachPart}
	if p.Ledger != nil {
		p.swap.mark += ": load " + p.Ledger.Load
	}
	p.target = p.swap.into()
	p.swap.planned, err = s.swapStatements(ctx, p, "0")
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
	steps = append(steps, p.copySQL(p.form(), true))
	for _, at := range swapOrder {
		steps = append(steps, p.swap.planned[at]...)
	}
	steps = append(steps, p.sequenceSteps()...)
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
	t.sql = sqltext.Quote(t.schema) + "." + sqltext.Quote(t.copied)
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
	if err := s.hinders(t.ctx, old, false); err != nil {
		return err
	}
	if t.swap.alone {
		return t.beginAlone()
	}
	first, err := connect(t.ctx, t.db.config)
	if why := tooMany(err); why != "" && !t.EachPart {
		t.alone, t.wanted, t.swap.alone = why, 1, true
		return t.beginAlone()
	}
	if err != nil {
		return err
	}
	t.addLoader(first)
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

// beginAlone makes the new table in the transaction that fills and swaps it.
func (t *table) beginAlone() error {
	t.addLoader(t.db.session)
	t.whole = true
	return t.makeNew(t.db.session)
}

// makeNew makes the new table, unless an earlier load has left it and can be continued. What another load has left is
// removed.
func (t *table) makeNew(s *session) error {
	old := t.swap.old
	left, mark, err := s.leftBy(t.ctx, t.target)
	if err == nil {
		err = t.checkLeftover(left, mark)
	}
	if err != nil {
		return err
	}
	ofLoad := t.swap.mark
	definition, err := s.definition(t.ctx, old)
	if err != nil {
		return err
	}
	t.swap.mark += definedAs + definition
	if left != "" && t.EachPart && strings.HasPrefix(mark, ofLoad+definedAs) {
		if mark != t.swap.mark {
			return fmt.Errorf("postgres: table %s was altered since the load began, and the parts in table %s do not "+
				"fit it: undo that, or DROP TABLE %s to load all parts again", old.sql, t.target.sql, t.target.sql)
		}
		t.target.oid = left
		if err := s.lock(t.ctx, t.target, "ROW EXCLUSIVE"); err != nil {
			return err
		}
		if err := s.look(t.ctx, t.plan, t.target); err != nil || len(t.loaded) > 0 {
			return err
		}
	}
	if left == "" && t.Ledger != nil {
		err := s.look(t.ctx, t.plan, old)
		if t.swap.done = len(t.loaded) > 0; err != nil || t.swap.done {
			return err
		}
	}
	return t.makeAnew(s, left != "")
}

// checkLeftover fails if the table of the name of the new one is not what an earlier load has left.
func (t *table) checkLeftover(left, mark string) error {
	if old := t.swap.old; left != "" && !strings.HasPrefix(mark, markOf(old)) {
		return fmt.Errorf("postgres: table %s: the table %s is in the way: rename it", old.sql, t.target.sql)
	}
	return nil
}

// definedAs precedes the hash of the old table's definition in the comment of the new one.
const definedAs = ": definition "

// definition returns a hash of what the new table has of the old one before its rows. The rest it gets when they are
// there, as the old table is then.
func (s *session) definition(ctx context.Context, old *target) (string, error) {
	found, err := s.query(ctx, 1, definitionSQL, old.oid)
	if err != nil {
		return "", s.failed(ctx, "reading the definition of table "+old.sql, err)
	}
	h := sha256.New()
	for _, row := range found {
		_, _ = fmt.Fprintf(h, "%d:%s", len(row[0]), row[0]) // a hash returns no error
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
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
	statements, err := s.swapStatements(t.ctx, t.plan, "0")
	if err != nil {
		return err
	}
	mark := "COMMENT ON TABLE " + t.target.sql + " IS " + sqltext.Literal(t.swap.mark)
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
	// Others can see the table while several loaders fill it, so nobody else gets the rights that are given by default.
	if statements, err = s.swapStatements(t.ctx, t.plan, t.target.oid); err != nil {
		return err
	}
	if err := s.runAll(t.ctx, t.target, statements[swapMade]); err != nil {
		return err
	}
	return s.forget(t.ctx, t.Ledger, t.target)
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
		if err := l.checkDeferred(); err != nil {
			return err
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
	statements, err := s.swapStatements(t.ctx, t.plan, t.target.oid)
	if err != nil {
		return err
	}
	if err := t.runSwap(statements, swapOrder...); err != nil {
		return err
	}
	if err := s.setSequences(t.ctx, t.plan); err != nil {
		return err
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

// swapOrder are the times of statements after the rows of a table that is swapped by itself, in order.
var swapOrder = []string{swapRows, swapKeys, swapLocked, swapDropped, swapNamed, swapDetails}

// runSwap runs the statements of some times, in order.
func (t *table) runSwap(statements map[string][]string, times ...string) error {
	s := t.db.session
	users := "{}"
	for _, at := range times {
		if at == swapLocked {
			var err error
			if users, err = s.one(t.ctx, usersSQL, t.swap.old.oid); err != nil {
				return s.failed(t.ctx, "looking who uses table "+t.swap.old.sql, err)
			}
		}
		for _, sql := range statements[at] {
			if err := s.params(t.ctx, sql).Err; err != nil {
				return s.swapFailed(t, sql, users, err)
			}
		}
	}
	return nil
}

// swapFailed explains an error of a statement of a swap. Rows that violate a constraint are noticed only here. The
// users are those of the old table before.
func (s *session) swapFailed(t *table, sql, users string, err error) error {
	if refused := s.rowFailed(t.ctx, t.target, err); isRowError(refused) {
		return refused
	}
	failed := s.failed(t.ctx, "swapping table "+t.swap.old.sql+": "+sink.Shorten(sql), err)
	refused, is := errors.AsType[*pgconn.PgError](err)
	switch {
	case !is || t.ctx.Err() != nil:
		return failed
	case refused.Code == codeDeadlock:
		failed = fmt.Errorf("%w, and wait for this load: %w", sink.ErrLocked, failed)
	case refused.Code != codeLockNotAvailable:
		return failed
	}
	advice := "with a ledger, a load keeps its rows for the next try"
	if t.EachPart {
		advice = "the rows are kept: the same load goes on with them"
	}
	if names := s.describe(t, users); names != "" {
		advice = "these sessions use the table: " + names + "; " + advice
	}
	return fmt.Errorf("%w; %s", failed, advice)
}

// The sessions that hold a lock of the table $1, and what is known of those of them that still do.
const (
	usersOfSQL = `
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'relation' AND l.granted AND l.relation = $1::oid AND l.pid <> pg_backend_pid()
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`
	usersSQL    = "SELECT coalesce(array_agg(DISTINCT l.pid), '{}')" + usersOfSQL
	describeSQL = `
SELECT string_agg(DISTINCT concat_ws(' ', l.pid, CASE WHEN $3 = 'f' THEN concat_ws(' ', 'of user', a.usename,
	'in ' || nullif(a.application_name, '')) END), ', ')` + usersOfSQL + " AND l.pid = ANY ($2::int[])"
)

// describe names those users of the old table that still hold a lock, after the swap has failed. The session cannot be
// used for rows afterwards.
func (s *session) describe(t *table, users string) string {
	if err := s.begin(t.ctx, t.Filling); err != nil {
		return "" // the error that is being explained says more
	}
	redact := map[bool]string{true: "t", false: "f"}[s.redact]
	names, err := s.one(t.ctx, describeSQL, t.swap.old.oid, users, redact)
	if err != nil {
		return ""
	}
	return names
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
	if err := s.forget(ctx, t.Ledger, t.target); err != nil {
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
