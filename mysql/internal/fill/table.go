package fill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/source"
)

const (
	beginSQL  = "START TRANSACTION"
	commitSQL = "COMMIT"
)

// grace is how long to ask what has become of a commit. Only tests change it.
var grace = 15 * time.Second

// undoTimeout is how long the server may take to undo rows before the connection is closed. It goes on then.
const undoTimeout = 10 * time.Minute

// table is a table that is being filled.
type table struct {
	sink.TableState
	*plan
	db     *DB
	ctx    context.Context
	empty  bool // it had no rows when the transaction began
	loader *loader
	others []*table // with the same plan, each with a connection and a loader of its own
	made   bool     // it was made, and has no rows that are committed
	ended  bool     // the transaction is committed
	last   string   // the part that was recorded last in the transaction, or ""
}

// Table begins to fill a table: see [sink.Sink].
func (db *DB) Table(ctx context.Context, name string, f sink.Filling) (sink.Table, error) {
	p, err := db.plan(ctx, name, f)
	if err != nil {
		return nil, err
	}
	t := &table{plan: p, db: db, ctx: ctx}
	if err := t.lock(); err != nil {
		return nil, err
	}
	if err := t.Begin(ctx, &db.filler, t, f, t.begin); err != nil {
		return nil, err
	}
	return t, nil
}

// lockName is the name of the lock that other loads of the table ask for too. It has at most 64 characters.
func (t *table) lockName() string {
	sum := sha256.Sum256([]byte(t.target.Database + "\x00" + t.target.Name))
	return "culvert " + hex.EncodeToString(sum[:20])
}

// lock keeps other loads of the table out.
func (t *table) lock() error {
	found, err := t.db.conn.Query(t.ctx, 1, "SELECT GET_LOCK('"+t.lockName()+"', 0)")
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err != nil {
		return t.db.failed(t.ctx, "locking "+t.target.String(), err)
	}
	if found[0][0] != "1" {
		return fmt.Errorf("mysql: %s: %w", t.target, sink.ErrBusy)
	}
	return nil
}

// begin does what precedes the rows.
func (t *table) begin() error {
	if err := t.beginTransaction(); err != nil {
		return err
	}
	if t.wanted > 1 && t.EachPart {
		if err := t.commitBeginning(); err != nil {
			return err
		}
	}
	return t.beginRows()
}

// beginRows makes the loader, in the transaction.
func (t *table) beginRows() error {
	if err := t.checkColumns(); err != nil {
		return err
	}
	t.loader = newLoader(t)
	t.loader.Join(&t.TableState, t.loader)
	return t.beginOthers()
}

// beginTransaction begins it, and decides what becomes of the rows that the table has. The first statement of the
// transaction on the table must look at what is committed now, and not at the snapshot, which later ones take.
func (t *table) beginTransaction() error {
	doing := "beginning to fill " + t.target.String()
	if t.Ledger != nil {
		if err := t.db.makeLedger(t.ctx, t.Ledger); err != nil {
			return err
		}
	}
	if err := t.db.look(t.ctx, t.plan); err != nil {
		return err
	}
	if t.Create != nil {
		if err := t.makeAnew(); err != nil {
			return err
		}
	}
	if err := t.db.share(t.ctx, t.plan); err != nil {
		return err
	}
	if t.arrives() {
		if err := t.makeArrivals(); err != nil {
			return err
		}
	}
	if err := t.uncheck(); err != nil {
		return err
	}
	if err := t.db.conn.Exec(t.ctx, beginSQL); err != nil {
		return t.db.failed(t.ctx, doing, err)
	}
	if t.clear {
		return t.clearRows()
	}
	if t.Existing <= sink.Append {
		lock := ""
		if t.Existing == sink.Refuse && len(t.loaded) == 0 && t.wanted == 1 {
			lock = " LOCK IN SHARE MODE" // which would keep other loaders out too
		}
		if err := t.db.decide(t.ctx, t.plan, lock); err != nil {
			return err
		}
	}
	t.empty = t.rows == 0
	return nil
}

// clearRows removes the rows that the table has.
func (t *table) clearRows() error {
	t.empty = true
	if t.wanted > 1 && !t.EachPart { // there are none: see alone
		return t.db.forget(t.ctx, t.plan)
	}
	if err := t.db.conn.Exec(t.ctx, t.clearSQL()); err != nil {
		return t.db.failed(t.ctx, "deleting the rows of "+t.target.String(), err)
	}
	if err := t.checkKeys(); err != nil {
		return err
	}
	return t.db.forget(t.ctx, t.plan)
}

// checkColumns fails if the columns are no longer those of the plan. They do not change while the transaction has used
// the table.
func (t *table) checkColumns() error {
	now, err := t.db.choose(t.ctx, t.target, t.Filling)
	if err != nil {
		return err
	}
	if t.made {
		t.columns = now // as the server has made them
		return nil
	}
	same := func(a, b column) bool { return a.Column == b.Column }
	if !slices.EqualFunc(now, t.columns, same) {
		return fmt.Errorf("mysql: %s was altered in this moment; begin again", t.target)
	}
	return nil
}

// Columns describes the values of the rows.
func (t *table) Columns() []source.Column { return t.sourceColumns() }

// Loaded returns the parts that the ledger has.
func (t *table) Loaded() []sink.Part { return t.loaded }

// Name is the name of the table.
func (t *table) Name() string { return t.target.SQL() }

// CommitRows commits the transaction, unless it is that of a group.
func (t *table) CommitRows() error {
	if t.Grouped {
		return nil
	}
	err := t.commitAll()
	if err == nil || errors.Is(err, sink.ErrUnconfirmed) {
		t.made = false
	}
	t.ended = err == nil
	return err
}

// commit checks the keys, and commits the transaction.
func (t *table) commit() error {
	check := t.checkKeys
	if t.Conflict == sink.Fail && t.arrives() {
		check = t.checkArrivals
	}
	if err := check(); err != nil {
		return err
	}
	if err := t.setSequences(); err != nil {
		return err
	}
	return t.confirm()
}

// confirm commits the transaction. If the connection is lost meanwhile, it asks the ledger what has become of it.
func (t *table) confirm() error {
	const doing = "committing"
	err := t.db.conn.Exec(t.ctx, commitSQL)
	if err == nil || wire.Refused(err) != nil {
		return t.db.failed(t.ctx, doing, err)
	}
	failed := t.db.failed(t.ctx, doing, err)
	if t.last == "" {
		return fmt.Errorf("%w: %w", sink.ErrUnconfirmed, failed)
	}
	return sink.Outcome(t.ctx, grace, failed, func(ctx context.Context) (bool, error) {
		conn, err := t.db.conn.After(ctx)
		if err != nil {
			return false, err
		}
		defer conn.Close()
		return t.has(ctx, conn, t.last)
	})
}

// End rolls back what is not committed, and frees the lock, unless a group does. If the connection is gone, or ends
// now, the server does the same. The error is of a table that was made.
func (t *table) End() error {
	if t.loader != nil {
		_ = t.loader.wait() // a failure is known, or is that of the context
		t.loader.piece, t.loader.sent = piece{}, piece{}
	}
	t.endOthers()
	if t.Grouped {
		return nil
	}
	t.quietly(func() error { return t.db.conn.SetDeadline(time.Now().Add(undoTimeout)) })
	if !t.ended {
		t.quietly(func() error { return t.db.conn.Exec(context.Background(), "ROLLBACK") })
	}
	if t.arrives() {
		t.quietly(func() error {
			return t.db.conn.Exec(context.Background(), "DROP TEMPORARY TABLE IF EXISTS "+t.arrivals())
		})
	}
	t.check()
	err := t.drop()
	t.unlock()
	t.quietly(func() error { return t.db.conn.SetDeadline(time.Time{}) })
	return err
}

// unlock frees the lock against other loads.
func (t *table) unlock() {
	t.quietly(func() error {
		return t.db.conn.Exec(context.Background(), "DO RELEASE_LOCK('"+t.lockName()+"')")
	})
}

// quietly closes the connection if a step fails.
func (t *table) quietly(step func() error) {
	if !t.db.conn.Gone && step() != nil {
		t.db.conn.Close()
	}
}
