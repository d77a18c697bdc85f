package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/source"
)

// plan is what filling a table will do.
type plan struct {
	sink.Filling
	target   catalog.Table
	columns  []column
	rows     int64 // that the table has: 0, or any other number; for Plan, about how many
	loaded   []sink.Part
	recorded [][]string // the loads and parts of the table in the ledger
	clear    bool       // the existing rows are removed
	wanted   int        // connections
	alone    string     // why there are not more

	keys   []foreignKeyOf // that the sink checks itself
	direct bool           // into the table, since the server refuses the temporary one

	createSQL string   // makes the table; "" if it exists
	engined   bool     // it names an engine with transactions
	omitted   []string // of the definition
	later     []string // of it, after all tables have their rows: see Finish
}

// Plan says what Table would do: see [sink.Sink].
func (db *DB) Plan(ctx context.Context, name string, f sink.Filling) (sink.Plan, error) {
	p, err := db.plan(ctx, name, f)
	if err == nil && p.Create == nil {
		err = db.foresee(ctx, p)
	}
	if err == nil {
		err = db.share(ctx, p)
	}
	if err != nil {
		return sink.Plan{}, err
	}
	made := sink.Plan{
		Table: p.target.SQL(), Columns: p.sourceColumns(), Exists: p.Create == nil, Rows: p.rows,
		Loaders: p.wanted, Alone: p.alone,
		Object:   db.conn.Server + "\x00" + db.folded(p.target.Database) + "\x00" + db.folded(p.target.Name),
		Database: db.conn.Server, // whose databases are in the names of tables
		Steps:    db.steps(p), Omitted: p.omitted, Later: p.later,
	}
	if p.Create == nil && (f.Grouped || f.Linked) {
		made.Refers, made.Referred, err = db.links(ctx, p.target, f.Grouped)
	}
	return made, err
}

// folded returns a name in lower case if the server compares names so.
func (db *DB) folded(name string) string {
	if db.conn.FoldCase {
		return strings.ToLower(name)
	}
	return name
}

// steps are the statements that change the database.
func (db *DB) steps(p *plan) (steps []string) {
	if p.Ledger != nil {
		steps = append(steps, ledgerSQL(p.Ledger)...)
	}
	if p.Create != nil {
		steps = append(steps, p.createSQL)
	}
	if p.arrives() {
		steps = append(steps, p.arrivalsSQL())
	}
	if len(p.keys) > 0 {
		steps = append(steps, uncheckedSQL)
	}
	steps = append(steps, beginSQL)
	if p.clear {
		steps = append(steps, p.clearSQL())
	}
	return append(append(steps, db.addSteps(p)...), commitSQL)
}

// addSteps are the statements that add rows.
func (db *DB) addSteps(p *plan) (steps []string) {
	into := p.target.SQL()
	if p.arrives() {
		into = p.arrivals()
	}
	if db.infile {
		steps = append(steps, db.loadSQL(into, p.columns)("ROWS"))
	} else {
		steps = append(steps, insertSQL(into, p.columns)+"…")
	}
	if p.arrives() {
		steps = append(steps, p.mergeSQL())
	}
	return append(steps, p.sequenceSteps()...)
}

// plan resolves the names, and refuses what cannot be done.
func (db *DB) plan(ctx context.Context, name string, f sink.Filling) (*plan, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if err := db.ready(ctx, f); err != nil {
		return nil, err
	}
	if err := db.mayWrite(ctx); err != nil {
		return nil, err
	}
	p := &plan{Filling: f}
	var err error
	if f.Create != nil {
		if err = db.planNew(ctx, p, name); err != nil || p.Create != nil {
			return p, err
		}
	} else if p.target, err = db.find(ctx, name); err != nil {
		return nil, err
	}
	if !p.target.Base {
		return nil, fmt.Errorf("mysql: %s is a view, which cannot be loaded", p.target)
	}
	if err := db.checkEngine(ctx, p.target); err != nil {
		return nil, err
	}
	if p.columns, err = db.choose(ctx, p.target, p.Filling); err != nil {
		return nil, err
	}
	if f.TriggersOff {
		triggers, err := db.hasTriggers(ctx, p.target)
		if err == nil && triggers {
			err = fmt.Errorf("mysql: %s has triggers, which the server cannot switch off: drop them for the load: %w",
				p.target, errors.ErrUnsupported)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, db.checkKey(ctx, p)
}

// describe returns a table with its columns for the decisions of the sink.
func describe(t catalog.Table, all []catalog.Column) *sink.Target {
	d := &sink.Target{Label: "mysql: " + t.String(), Equal: strings.EqualFold}
	for _, c := range all {
		d.Columns = append(d.Columns, sink.TableColumn{Column: c.Column, Computed: c.Generated})
	}
	return d
}

// choose returns the columns of the rows.
func (db *DB) choose(ctx context.Context, t catalog.Table, f sink.Filling) ([]column, error) {
	columns := catalog.Columns
	if f.Create != nil && !strings.Contains(strings.ToLower(f.Create.Create), "json") {
		columns = catalog.ColumnsWithoutJSON
	}
	all, err := columns(ctx, db.conn, t)
	if err != nil {
		return nil, db.failed(ctx, t.String(), err)
	}
	return chosen(t, all, f)
}

// chosen is choose for the columns of a table.
func chosen(t catalog.Table, all []catalog.Column, f sink.Filling) (columns []column, err error) {
	places, err := describe(t, all).Choose(f)
	if err == nil && len(places) == 0 {
		err = fmt.Errorf("mysql: %s has no columns that take values", t)
	}
	for _, at := range places {
		columns = append(columns, newColumn(all[at]))
	}
	return columns, err
}

// look reads the ledger, and decides what becomes of the rows if they are to be replaced. Otherwise that is decided in
// the transaction.
func (db *DB) look(ctx context.Context, p *plan) error {
	if err := db.readLedger(ctx, p); err != nil {
		return err
	}
	var err error
	if p.keys, err = db.keysToCheck(ctx, p); err != nil || p.Existing <= sink.Append {
		return err
	}
	if err := db.decide(ctx, p, ""); err != nil || !p.clear || p.Grouped {
		return err
	}
	return db.checkReferences(ctx, p.target, func(catalog.Table) bool { return false })
}

// decide decides what becomes of the rows that the table has. The clause locks the first of them, or their absence.
func (db *DB) decide(ctx context.Context, p *plan, lock string) error {
	found, err := db.conn.Query(ctx, 1, "SELECT 1 FROM "+p.target.SQL()+" LIMIT 1"+lock)
	if err != nil {
		return db.failed(ctx, p.target.String(), err)
	}
	p.rows = int64(len(found))
	p.loaded, p.clear, err = describe(p.target, nil).Look(p.Filling, content{db, ctx, p})
	return err
}

// content is what the table and the ledger have, as far as it is known.
type content struct {
	db  *DB
	ctx context.Context
	p   *plan
}

// Parts returns the parts of the load.
func (c content) Parts() ([]sink.Part, error) { return c.p.loaded, nil }

// Count counts the rows.
func (c content) Count(most int64) (int64, error) {
	if most == 0 || c.p.rows == 0 {
		return c.p.rows, nil
	}
	return c.db.number(c.ctx, c.p.target, "SELECT COUNT(*) FROM "+c.p.target.SQL())
}

// number returns the number that a statement about a table finds.
func (db *DB) number(ctx context.Context, t catalog.Table, sql string, parameters ...string) (n int64, err error) {
	found, err := db.conn.Query(ctx, 1, sql, parameters...)
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err == nil {
		n, err = strconv.ParseInt(found[0][0], 10, 64)
	}
	return n, db.failed(ctx, t.String(), err)
}

// foresee does what precedes the rows, as far as it changes nothing, and asks how many rows the table has.
func (db *DB) foresee(ctx context.Context, p *plan) error {
	err := db.look(ctx, p)
	if err == nil && p.Existing <= sink.Append {
		err = db.decide(ctx, p, "")
	}
	if err == nil && p.rows > 0 {
		p.rows, err = db.number(ctx, p.target, `SELECT GREATEST(1, IFNULL(TABLE_ROWS, 0))
			FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`,
			p.target.Database, p.target.Name)
	}
	return err
}

func (p *plan) sourceColumns() []source.Column {
	columns := make([]source.Column, len(p.columns))
	for i, c := range p.columns {
		columns[i] = c.Column.Column
	}
	return columns
}

// list returns the names of columns as SQL, with a prefix.
func list(columns []column, prefix string) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = prefix + catalog.Quote(c.Name)
	}
	return strings.Join(names, ", ")
}

func (p *plan) clearSQL() string { return "DELETE FROM " + p.target.SQL() }

// insertSQL is the beginning of the statement that adds rows by their lists.
func insertSQL(into string, columns []column) string {
	return "INSERT INTO " + into + " (" + list(columns, "") + ") VALUES\n"
}

// asTheyAre are types without a class whose columns also take bytes of UTF-8 unchanged.
var asTheyAre = []string{"decimal", "double", "date", "enum", "set"}

// charset returns the character set for LOAD DATA. With binary, MariaDB does not look for characters in the text, which
// saves a sixteenth of its time. It still checks values as it stores them in columns of UTF-8.
func (db *DB) charset(columns []column) string {
	const text, octets, letters = "utf8mb4", "binary", "abcdefghijklmnopqrstuvwxyz"
	for _, c := range columns {
		word := c.Type[:len(c.Type)-len(strings.TrimLeft(c.Type, letters))]
		known := c.class != other || c.JSON || slices.Contains(asTheyAre, word)
		if !known || !db.conn.IsMariaDB || c.Charset != "" && c.Charset != text {
			return text
		}
	}
	return octets
}

// loadSQL returns the statement that adds rows by their text.
func (db *DB) loadSQL(into string, columns []column) func(file string) string {
	var fields, sets []string
	for i, c := range columns {
		name, variable := catalog.Quote(c.Name), fmt.Sprintf("@culvert%d", i)
		switch c.class {
		case octets:
			sets = append(sets, name+" = UNHEX("+variable+")")
		case bits:
			sets = append(sets, name+" = CAST("+variable+" AS UNSIGNED)")
		default:
			variable = name
		}
		fields = append(fields, variable)
	}
	end := `' INTO TABLE ` + into + ` CHARACTER SET ` + db.charset(columns) +
		` FIELDS TERMINATED BY '\t' ESCAPED BY '\\'` +
		` LINES TERMINATED BY '\n' (` + strings.Join(fields, ", ") + ")"
	if len(sets) > 0 {
		end += " SET " + strings.Join(sets, ", ")
	}
	return func(file string) string { return "LOAD DATA LOCAL INFILE '" + file + end }
}
