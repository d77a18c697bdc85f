package fill

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/source"
)

// alone is why there is one loader.
const alone = "a transaction of MySQL and MariaDB has one connection"

// plan is what filling a table will do.
type plan struct {
	sink.Filling
	target   catalog.Table
	columns  []column
	rows     int64 // that the table has, about
	loaded   []sink.Part
	recorded [][]string // the loads and parts of the table in the ledger
	clear    bool       // the existing rows are removed

	keys   []foreignKeyOf // that the sink checks itself
	direct bool           // into the table, since the server refuses the temporary one

	createSQL string   // makes the table; "" if it exists
	omitted   []string // of the definition
	later     []string // of it, after all tables have their rows: see Finish
}

// Plan says what Table would do: see [sink.Sink].
func (db *DB) Plan(ctx context.Context, name string, f sink.Filling) (sink.Plan, error) {
	p, err := db.plan(ctx, name, f)
	if err == nil && p.Create == nil {
		if err = db.look(ctx, p); err == nil {
			err = db.checkRows(ctx, p, "")
		}
	}
	if err != nil {
		return sink.Plan{}, err
	}
	made := sink.Plan{
		Table: p.target.SQL(), Columns: p.sourceColumns(), Exists: p.Create == nil, Rows: p.rows, Loaders: 1,
		Object: db.conn.Server + "\x00" + p.target.Database + "\x00" + p.target.Name,
		Steps:  db.steps(p), Omitted: p.omitted, Later: p.later,
	}
	if f.Loaders > 1 {
		made.Alone = alone
	}
	return made, nil
}

// steps are the statements that change the database.
func (db *DB) steps(p *plan) (steps []string) {
	if p.Ledger != nil {
		steps = append(steps, ledgerSQL(p.Ledger)...)
	}
	if p.Create != nil {
		steps = append(steps, p.createSQL)
	}
	into := p.target.SQL()
	if p.arrives() {
		steps = append(steps, p.arrivalsSQL())
		into = p.arrivals()
	}
	if len(p.keys) > 0 {
		steps = append(steps, uncheckedSQL)
	}
	steps = append(steps, beginSQL)
	if p.clear {
		steps = append(steps, p.clearSQL())
	}
	if db.infile {
		steps = append(steps, loadSQL(into, p.columns)("ROWS"))
	} else {
		steps = append(steps, insertSQL(into, p.columns)+"…")
	}
	if p.arrives() {
		steps = append(steps, p.mergeSQL())
	}
	return append(steps, commitSQL)
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
	if p.columns, err = db.choose(ctx, p.target, f.Columns); err != nil {
		return nil, err
	}
	return p, db.checkKey(ctx, p)
}

// choose returns the columns with the given names, or all that are not generated. Letter case does not count.
func (db *DB) choose(ctx context.Context, t catalog.Table, names []string) ([]column, error) {
	all, err := catalog.Columns(ctx, db.conn, t)
	if err != nil {
		return nil, db.failed(ctx, t.String(), err)
	}
	return chosen(t, all, names)
}

// chosen is choose for the columns of a table.
func chosen(t catalog.Table, all []catalog.Column, names []string) ([]column, error) {
	var chosen []column
	if len(names) == 0 {
		for _, c := range all {
			if !c.Generated {
				chosen = append(chosen, newColumn(c))
			}
		}
		if len(chosen) == 0 {
			return nil, fmt.Errorf("mysql: %s has no columns that take values", t)
		}
		return chosen, nil
	}
	for _, name := range names {
		at := slices.IndexFunc(all, func(c catalog.Column) bool { return strings.EqualFold(c.Name, name) })
		switch {
		case at < 0:
			unknown := &source.UnknownError{What: "column", Name: name}
			for _, c := range all {
				unknown.Known = append(unknown.Known, c.Name)
			}
			return nil, unknown
		case all[at].Generated:
			return nil, fmt.Errorf("mysql: %s: column %q is generated, and takes no values", t, name)
		case slices.ContainsFunc(chosen, func(c column) bool { return c.Name == all[at].Name }):
			return nil, fmt.Errorf("mysql: %s: column %q is named twice", t, name)
		}
		chosen = append(chosen, newColumn(all[at]))
	}
	return chosen, nil
}

// look reads the ledger, and decides what becomes of the rows that the table has.
func (db *DB) look(ctx context.Context, p *plan) error {
	if err := db.readLedger(ctx, p); err != nil {
		return err
	}
	var err error
	if p.keys, err = db.keysToCheck(ctx, p); err != nil {
		return err
	}
	if p.Existing != sink.Truncate && p.Existing != sink.Swap {
		return nil
	}
	if len(p.loaded) > 0 {
		if rows, err := db.count(ctx, p.target); err != nil || rows == p.own() {
			return err
		}
		p.loaded = nil
	}
	p.clear = true
	return db.checkReferences(ctx, p.target)
}

func (db *DB) count(ctx context.Context, t catalog.Table) (rows int64, err error) {
	found, err := db.conn.Query(ctx, 1, "SELECT COUNT(*) FROM "+t.SQL())
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err == nil {
		rows, err = strconv.ParseInt(found[0][0], 10, 64)
	}
	return rows, db.failed(ctx, t.String(), err)
}

// checkRows refuses a table that must be empty and is not. The clause locks the rows that it looks at.
func (db *DB) checkRows(ctx context.Context, p *plan, lock string) error {
	doing := p.target.String()
	found, err := db.conn.Query(ctx, 1, "SELECT 1 FROM "+p.target.SQL()+" LIMIT 1"+lock)
	p.rows = 0
	switch {
	case err != nil:
		return db.failed(ctx, doing, err)
	case len(found) == 0:
		return p.checkOwn()
	}
	if len(p.loaded) > 0 && p.Existing <= sink.Append {
		if p.rows, err = db.count(ctx, p.target); err != nil {
			return err
		}
		return p.checkOwn()
	}
	found, err = db.conn.Query(ctx, 1, `SELECT GREATEST(1, IFNULL(TABLE_ROWS, 0)) FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, p.target.Database, p.target.Name)
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err == nil {
		p.rows, err = strconv.ParseInt(found[0][0], 10, 64)
	}
	if err != nil {
		return db.failed(ctx, doing, err)
	}
	return p.checkOwn()
}

// checkOwn refuses a table that must have no rows except those of parts of the load, and has others or
// lacks some of these.
func (p *plan) checkOwn() error {
	own := p.own()
	switch {
	case p.rows < own && (p.Existing == sink.Refuse || p.Existing == sink.Append && p.Conflict == sink.Fail):
		return fmt.Errorf("mysql: %s: %w: it has %d rows, and the ledger %d", p.target, sink.ErrGone, p.rows, own)
	case p.Existing != sink.Refuse || p.rows == own:
		return nil
	case len(p.loaded) == 0:
		return fmt.Errorf("mysql: %s has rows: %w", p.target, sink.ErrNotEmpty)
	}
	return fmt.Errorf("mysql: %s: %w: it has %d rows, and the ledger %d", p.target, sink.ErrNotEmpty, p.rows, own)
}

// own is the number of the rows of the parts that the ledger has.
func (p *plan) own() (rows int64) {
	for _, part := range p.loaded {
		rows += part.Rows
	}
	return rows
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

// loadSQL returns the statement that adds rows by their text.
func loadSQL(into string, columns []column) func(file string) string {
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
	end := `' INTO TABLE ` + into + ` CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\t' ESCAPED BY '\\'` +
		` LINES TERMINATED BY '\n' (` + strings.Join(fields, ", ") + ")"
	if len(sets) > 0 {
		end += " SET " + strings.Join(sets, ", ")
	}
	return func(file string) string { return "LOAD DATA LOCAL INFILE '" + file + end }
}
