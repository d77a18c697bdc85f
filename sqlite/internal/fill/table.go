package fill

import (
	"context"
	"errors"
	"fmt"
	"strconv"

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
	db         *DB
	ctx        context.Context
	filling    sink.Filling
	name       string // as the database writes it
	sql        string
	plan       sink.Plan
	all        []string // the names of all columns of an export
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
	dangling danglers // of other tables, before the filling
	clear    bool     // the existing rows are removed
	empty    bool     // the table had no rows when the transaction began
	loader   *loader
	done     bool
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
	if err := t.begin(); err != nil {
		if t.loader != nil {
			t.loader.finish()
		}
		return nil, errors.Join(err, t.rollback())
	}
	db.open = t
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
	if t.takesKeys() && (t.clear || t.filling.Conflict == sink.Update) {
		if t.dangling, err = t.countDangling(); err != nil {
			return err
		}
	}
	if err := t.runAll(t.before); err != nil {
		return err
	}
	stmt, _, err := t.db.conn.Prepare(t.insert)
	if err != nil {
		return t.db.fail(t.ctx, err)
	}
	t.loader = &loader{table: t, stmt: stmt, group: 1, grammars: t.grammars()}
	group := t.group()
	if group == 1 {
		return nil
	}
	sql, err := t.statement(group)
	if err != nil {
		return err
	}
	if t.loader.several, _, err = t.db.conn.Prepare(sql); err != nil {
		return t.db.fail(t.ctx, err)
	}
	t.loader.group = group
	return nil
}

// version returns a number that the commits of other connections change.
func (db *DB) version(ctx context.Context) (string, error) {
	found, err := db.texts(ctx, "PRAGMA data_version")
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
	found, err := t.db.texts(t.ctx, "SELECT count(*) FROM "+t.ledger()+" WHERE load = ? AND table_name = ?",
		t.filling.Ledger.Load, t.name)
	if err == nil && found[0][0] != strconv.Itoa(len(t.loaded)+t.recorded) {
		err = fmt.Errorf("sqlite: %s: table %q: %w", t.db.path, t.name, sink.ErrBusy)
	}
	return err
}

// look looks at the rows and the ledger, and plans the steps.
func (t *table) look() error {
	if t.filling.Create != nil {
		t.empty, t.clear = true, true // a ledger may still have parts of a table that was dropped
		t.before = append(t.before, t.filling.Create.Create)
		if t.filling.Ledger != nil {
			t.before = append(t.before, t.ledgerSteps()...)
		}
		return nil
	}
	rows, err := t.db.texts(t.ctx, "SELECT count(*) FROM "+t.sql)
	if err != nil {
		return err
	}
	if t.plan.Rows, err = strconv.ParseInt(rows[0][0], 10, 64); err != nil {
		return err
	}
	if err := t.readLedger(); err != nil {
		return err
	}
	var own int64
	for _, p := range t.loaded {
		own += p.Rows
	}
	switch {
	case t.filling.Existing > sink.Append:
		if t.clear = len(t.loaded) == 0 || t.plan.Rows != own; t.clear {
			t.loaded = nil
		}
	case t.plan.Rows < own && (t.filling.Existing == sink.Refuse || t.filling.Conflict == sink.Fail):
		return fmt.Errorf("sqlite: %s: table %q: %w: it has %d rows, and the ledger %d", t.db.path, t.name,
			sink.ErrGone, t.plan.Rows, own)
	case t.filling.Existing == sink.Append:
	case t.plan.Rows != own && len(t.loaded) == 0:
		return fmt.Errorf("sqlite: %s: table %q has %d rows: %w", t.db.path, t.name, t.plan.Rows, sink.ErrNotEmpty)
	case t.plan.Rows != own:
		return fmt.Errorf("sqlite: %s: table %q: %w: it has %d rows, and the ledger %d", t.db.path, t.name,
			sink.ErrNotEmpty, t.plan.Rows, own)
	}
	t.empty = t.plan.Rows == 0 || t.clear
	if t.clear {
		t.before = append(t.before, "DELETE FROM "+t.sql)
	}
	if t.filling.Ledger != nil {
		t.before = append(t.before, t.ledgerSteps()...)
	}
	return nil
}

func (t *table) Columns() []source.Column { return t.plan.Columns }

// Dynamic says that JSON is text.
func (t *table) Dynamic() {}

func (t *table) Loaders() []sink.Loader { return []sink.Loader{t.loader} }

func (t *table) Loaded() []sink.Part { return t.loaded }

// Commit commits the transaction. In the usual journal mode it waits for others that are reading.
func (t *table) Commit() (err error) {
	defer t.db.catch(&err)
	switch l := t.loader; {
	case t.done:
		return errors.New("sqlite: the filling of the table has ended")
	case l.err != nil && l.err != errClosed:
		return fmt.Errorf("sqlite: the loader has failed: %w", l.err)
	case !l.closed:
		return errors.New("sqlite: the loader is not closed")
	case t.filling.EachPart && l.rows > 0:
		return fmt.Errorf("sqlite: %d rows are in no part", l.rows)
	}
	err = t.ended()
	if err == nil {
		err = t.checkForeignKeys()
	}
	if err == nil {
		err = t.runAll(t.after())
	}
	if err == nil {
		err = t.db.exec(t.ctx, commitSQL)
	}
	if err != nil {
		return errors.Join(err, t.end())
	}
	t.done = true
	t.db.open = nil
	return nil
}

// Discard undoes the transaction.
func (t *table) Discard() (err error) {
	defer t.db.catch(&err)
	if t.done {
		return nil
	}
	return t.end()
}

func (t *table) end() error {
	t.done = true
	t.db.open = nil
	t.loader.finish()
	return t.rollback()
}

// rollback undoes the transaction, unless SQLite has done it because of an error.
func (t *table) rollback() error {
	if t.db.spent != nil || t.db.conn.GetAutocommit() {
		return nil
	}
	t.db.conn.SetInterrupt(context.Background())
	return t.db.exec(context.Background(), "ROLLBACK")
}

// ended returns an error if SQLite has ended the transaction by itself, as it does when the disk is full or fails.
// Whatever is written after that is committed at once.
func (t *table) ended() error {
	if !t.db.conn.GetAutocommit() {
		return nil
	}
	return &failure{path: t.db.path, err: errors.New("the transaction was undone")}
}

// readLedger reads the parts of the load that earlier fillings have committed.
func (t *table) readLedger() error {
	t.loaded = nil
	ledger := t.filling.Ledger
	if ledger == nil {
		return nil
	}
	found, err := t.db.texts(t.ctx,
		"SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", ledger.Table)
	if err != nil || len(found) == 0 {
		return err
	}
	parts, err := t.db.texts(t.ctx, "SELECT part, row_count, row_sum FROM "+t.ledger()+
		" WHERE load = ? AND table_name = ? ORDER BY part", ledger.Load, t.name)
	if err != nil {
		return err
	}
	for _, row := range parts {
		rows, err := strconv.ParseInt(row[1], 10, 64)
		if err != nil {
			return fmt.Errorf("sqlite: ledger %q: %w", ledger.Table, err)
		}
		t.loaded = append(t.loaded, sink.Part{Name: row[0], Rows: rows, Sum: row[2]})
	}
	return nil
}

func (t *table) ledger() string { return "main." + sqlite3.QuoteIdentifier(t.filling.Ledger.Table) }

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
