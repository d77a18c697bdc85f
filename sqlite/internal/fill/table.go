package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/valuetext"
)

const (
	beginSQL  = "BEGIN IMMEDIATE"
	commitSQL = "COMMIT"
)

// table is a table that is being filled.
type table struct {
	sink.TableState
	db         *DB
	ctx        context.Context
	filling    sink.Filling
	name       string // as the database writes it
	sql        string
	plan       sink.Plan
	affinities []valuetext.Affinity
	insert     string
	triggers   bool     // the table has some
	resolves   bool     // its definition may say what becomes of rows that are in conflict
	virtual    bool     // it is a virtual table
	omitted    []string // of the definition of a table that is made

	loaded   []sink.Part
	recorded int      // parts that this filling has committed
	version  string   // of the file, which the commits of others change
	before   []string // the statements before the rows
	others   []string // tables that are not filled, and whose rows must not lose those that they refer to

	drop, restore []string // statements that drop triggers, and make them again

	clear  bool // the existing rows are removed
	empty  bool // the table had no rows when the transaction began
	loader *loader
}

// Table begins to fill a table, and takes the lock of the database for writing.
func (db *DB) Table(ctx context.Context, name string, f sink.Filling) (_ sink.Table, err error) {
	defer db.catch(&err)
	t, err := db.plan(ctx, name, f)
	if err != nil {
		return nil, err
	}
	if err := db.exec(ctx, beginSQL); err != nil {
		return nil, err
	}
	if err := t.Begin(ctx, &db.filler, t, t.filling, t.begin); err != nil {
		return nil, err
	}
	return t, nil
}

// begin does in the transaction what precedes the rows.
func (t *table) begin() error {
	if err := t.look(); err != nil {
		return err
	}
	var err error
	if t.version, err = t.db.version(t.ctx); err != nil {
		return err
	}
	if err := t.forgetLost(); err != nil {
		return err
	}
	if err := t.noteLost(func(string) bool { return true }); err != nil {
		return err
	}
	if err := t.runAll(t.before); err != nil {
		return err
	}
	return t.beginRows()
}

// beginRows makes the loader.
func (t *table) beginRows() error {
	l := &loader{table: t, group: t.group(), grammars: t.grammars()}
	t.loader = l
	l.Join(&t.TableState, l)
	var err error
	if l.stmt, _, err = t.db.conn.Prepare(t.insert); err == nil && l.group > 1 {
		l.several, _, err = t.db.conn.Prepare(t.statement(l.group))
	}
	if err != nil {
		return t.db.fail(t.ctx, err)
	}
	return nil
}

// version returns a number that the commits of other connections change.
func (db *DB) version(ctx context.Context) (string, error) {
	found, err := db.textRows(ctx, "PRAGMA data_version")
	if err != nil {
		return "", err
	}
	return found[0][0], nil
}

// checkLedger fails if another load came in between two transactions, and has recorded parts of the same load, or
// removed what this one has.
func (t *table) checkLedger() error {
	version, err := t.db.version(t.ctx)
	if err != nil || version == t.version {
		return err
	}
	t.version = version
	found, err := t.db.textRows(t.ctx, "SELECT count(*) FROM "+t.ledger()+" WHERE load = ? AND table_name = ?",
		t.filling.Ledger.Load, t.name)
	if err == nil && found[0][0] != strconv.Itoa(len(t.loaded)+t.recorded) {
		err = fmt.Errorf("sqlite: %s: table %q: %w", t.db.path, t.name, sink.ErrBusy)
	}
	return err
}

// look looks at the rows and the ledger, and plans the steps.
func (t *table) look() error {
	err := t.decide()
	if err == nil {
		t.prepare()
	}
	return err
}

// decide decides what becomes of the rows that the table has.
func (t *table) decide() error {
	if t.filling.Create != nil {
		t.clear = true // a ledger may still have parts of a table that was dropped
		return nil
	}
	var err error
	if t.plan.Rows, err = t.Count(0); err != nil {
		return err
	}
	target, err := t.target()
	if err == nil {
		t.loaded, t.clear, err = target.Look(t.filling, counted{t})
	}
	return err
}

// prepare plans the statements before the rows.
func (t *table) prepare() {
	t.empty = t.plan.Rows == 0 || t.clear
	t.before = slices.Clone(t.drop)
	switch {
	case t.filling.Create != nil:
		t.before = append(t.before, t.filling.Create.Create)
	case t.clear:
		t.before = append(t.before, "DELETE FROM "+t.sql)
	}
	if t.filling.Ledger != nil {
		t.before = append(t.before, t.ledgerSteps()...)
	}
}

// Columns describes the values of the rows.
func (t *table) Columns() []source.Column { return t.plan.Columns }

// Dynamic says that JSON is text.
func (t *table) Dynamic() {}

// Loaded returns the parts that the ledger has.
func (t *table) Loaded() []sink.Part { return t.loaded }

// Name is the name of the table.
func (t *table) Name() string { return t.name }

// CommitRows commits the transaction, unless it is that of a group. In the usual journal mode it waits for others that
// are reading.
func (t *table) CommitRows() (err error) {
	defer t.db.catch(&err)
	if err := t.ended(); err != nil {
		return err
	}
	if !t.filling.Grouped {
		if err := t.checkLost(); err != nil {
			return err
		}
	}
	if err := t.runAll(t.after()); err != nil || t.filling.Grouped {
		return err
	}
	return t.db.exec(t.ctx, commitSQL)
}

// End undoes the transaction, unless SQLite has done it because of an error.
func (t *table) End() (err error) {
	defer t.db.catch(&err)
	if t.loader != nil {
		t.loader.finish()
	}
	if t.filling.Grouped {
		return nil // the group undoes it
	}
	return t.db.rollback()
}

func (db *DB) rollback() error {
	if db.spent != nil || db.conn.GetAutocommit() {
		return nil
	}
	db.conn.SetInterrupt(context.Background())
	return db.exec(context.Background(), "ROLLBACK")
}

// ended returns an error if SQLite has ended the transaction by itself, as it does when the disk is full or fails.
// Whatever is written after that is committed at once.
func (t *table) ended() error {
	if !t.db.conn.GetAutocommit() {
		return nil
	}
	return &failure{path: t.db.path, err: errors.New("the transaction was undone")}
}

// Count counts the rows of the table, which SQLite does fast.
func (t *table) Count(int64) (int64, error) {
	found, err := t.db.textRows(t.ctx, "SELECT count(*) FROM "+t.sql)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(found[0][0], 10, 64)
}

// counted is a table whose rows are counted already.
type counted struct{ *table }

func (c counted) Count(int64) (int64, error) { return c.plan.Rows, nil }

// Parts returns the parts of the load that the ledger has.
func (t *table) Parts() (parts []sink.Part, err error) {
	ledger := t.filling.Ledger
	if ledger == nil {
		return nil, nil
	}
	found, err := t.db.textRows(t.ctx, tablesSQL+" AND name = ? COLLATE NOCASE", t.ledgerName())
	if err != nil || len(found) == 0 {
		return nil, err
	}
	found, err = t.db.textRows(t.ctx, "SELECT part, row_count, row_sum FROM "+t.ledger()+
		" WHERE load = ? AND table_name = ? ORDER BY part", ledger.Load, t.name)
	for _, row := range found {
		rows, err := strconv.ParseInt(row[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("sqlite: ledger %q: %w", ledger.Table, err)
		}
		parts = append(parts, sink.Part{Name: row[0], Rows: rows, Sum: row[2]})
	}
	return parts, err
}

// ledgerName is the name of the ledger. It may begin with "main.".
func (t *table) ledgerName() string { return strings.TrimPrefix(t.filling.Ledger.Table, "main.") }

func (t *table) ledger() string { return "main." + sqlite3.QuoteIdentifier(t.ledgerName()) }

// ledgerSteps make the ledger. Rows that are removed are not in it any more.
func (t *table) ledgerSteps() []string {
	steps := []string{"CREATE TABLE IF NOT EXISTS " + t.ledger() + ` (
	load TEXT NOT NULL, table_name TEXT NOT NULL, part TEXT NOT NULL, row_count INTEGER NOT NULL, row_sum TEXT NOT NULL,
	loaded_at TEXT NOT NULL, PRIMARY KEY (load, table_name, part))`}
	if t.clear {
		steps = append(steps, "DELETE FROM "+t.ledger()+" WHERE table_name = "+sqlite3.Quote(t.name))
	}
	return steps
}
