package fill

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/valuetext"
)

// alone is why there is one loader.
const alone = "SQLite has one writer at a time"

// Plan says what Table would do: see [sink.Sink].
func (db *DB) Plan(ctx context.Context, name string, f sink.Filling) (_ sink.Plan, err error) {
	defer db.catch(&err)
	t, err := db.plan(ctx, name, f)
	if err != nil {
		return sink.Plan{}, err
	}
	if err := t.look(); err != nil {
		return sink.Plan{}, err
	}
	if t.filling.Create == nil {
		// A key that is none of the table is found out when the statement is compiled.
		stmt, _, err := db.conn.Prepare(t.insert)
		if err != nil {
			return sink.Plan{}, db.fail(ctx, err)
		}
		finish(stmt)
	}
	if f.Grouped && t.filling.Create == nil {
		if t.plan.Refers, t.plan.Referred, err = t.links(); err != nil {
			return sink.Plan{}, err
		}
	}
	t.plan.Steps = slices.Concat([]string{beginSQL}, t.before, []string{t.insert}, t.after(), []string{commitSQL})
	return t.plan, nil
}

// plan resolves the names.
func (db *DB) plan(ctx context.Context, name string, f sink.Filling) (*table, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if err := db.ready(ctx, f); err != nil {
		return nil, err
	}
	if err := db.mayWrite(ctx); err != nil {
		return nil, err
	}
	t := &table{db: db, ctx: ctx, filling: f}
	var err error
	if f.Create != nil {
		err = t.resolveNew(name)
	} else {
		t.name, err = db.find(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	path := db.path
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	t.sql = "main." + sqlite3.QuoteIdentifier(t.name)
	// Letter case counts in no name: SQLite knows only that of ASCII.
	folded := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, t.name)
	t.plan = sink.Plan{
		Table: t.name, Object: identify(path) + "\x00" + folded, Database: path, Exists: t.filling.Create == nil,
		Loaders: 1,
	}
	t.plan.Omitted = t.omitted
	if f.Loaders > 1 {
		t.plan.Alone = alone
	}
	if err := t.inspect(); err != nil {
		return nil, err
	}
	if err := t.choose(); err != nil {
		return nil, err
	}
	t.insert = t.statement(1)
	return t, nil
}

const tablesSQL = "SELECT name FROM main.sqlite_schema WHERE type = 'table'"

// find returns the name of a table as the database writes it. It may begin with "main.".
func (db *DB) find(ctx context.Context, name string) (string, error) {
	found, err := db.textRows(ctx, tablesSQL+" AND name = ? COLLATE NOCASE", name)
	const main = "main."
	if err == nil && len(found) == 0 && len(name) > len(main) && strings.EqualFold(name[:len(main)], main) {
		found, err = db.textRows(ctx, tablesSQL+" AND name = ? COLLATE NOCASE", name[len(main):])
	}
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return found[0][0], nil
	}
	names, err := db.textRows(ctx, tablesSQL+` AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return "", err
	}
	var known []string
	for _, row := range names {
		known = append(known, row[0])
	}
	return "", &source.UnknownError{What: "table", Name: name, Known: known}
}

// hidden is how SQLite marks columns that virtual tables take by name. Columns that are computed have higher marks.
const hidden = "1"

// rowid is a column that virtual tables have besides those that SQLite lists.
const rowid = "rowid"

// columns returns all columns of the table.
func (t *table) columns() (all []sink.TableColumn, err error) {
	if d := t.filling.Create; d != nil {
		for _, c := range d.Columns {
			column := source.Column{Name: c.Name, Type: c.Type}
			all = append(all, sink.TableColumn{Column: column, Computed: c.Generated != ""})
		}
		return all, nil
	}
	list, err := t.db.textRows(t.ctx, "SELECT name, type, hidden FROM pragma_table_xinfo(?, 'main')", t.name)
	for _, row := range list {
		all = append(all, sink.TableColumn{
			Column: source.Column{Name: row[0], Type: row[1]}, Computed: row[2] > hidden, Hidden: row[2] == hidden,
		})
	}
	return all, err
}

// target is the table with its columns.
func (t *table) target() (*sink.Target, error) {
	all, err := t.columns()
	named := func(c sink.TableColumn) bool { return strings.EqualFold(c.Name, rowid) }
	if t.virtual && !slices.ContainsFunc(all, named) {
		all = append(all, sink.TableColumn{Column: source.Column{Name: rowid}, Hidden: true})
	}
	label := fmt.Sprintf("sqlite: %s: table %q", t.db.path, t.name)
	return &sink.Target{Label: label, Columns: all, Equal: strings.EqualFold}, err
}

// choose finds the columns that the rows have.
func (t *table) choose() error {
	target, err := t.target()
	if err != nil {
		return err
	}
	chosen, err := target.Choose(t.filling)
	for _, at := range chosen {
		c := target.Columns[at].Column
		t.plan.Columns = append(t.plan.Columns, c)
		affinity := valuetext.AffinityOf(c.Type)
		if t.virtual {
			affinity = valuetext.None // whatever its definition says for other systems
		}
		t.affinities = append(t.affinities, affinity)
	}
	return err
}

// group returns how many rows a statement adds: many, since SQLite then finds the end of the table only once, but one
// if a row can be left out, or stay although another one is refused, so that SQLite could not say which.
func (t *table) group() int {
	const rows, parameters = 64, 4096
	if t.triggers || t.virtual || t.filling.Conflict != sink.Fail {
		return 1
	}
	return max(1, min(rows, parameters/max(1, len(t.plan.Columns))))
}

// inspect finds out what decides how rows are added.
func (t *table) inspect() error {
	if d := t.filling.Create; d != nil {
		t.virtual = sink.MakesVirtualTable(d.Create)
		t.resolves = strings.Contains(strings.ToUpper(d.Create), "CONFLICT")
		return nil
	}
	found, err := t.db.textRows(t.ctx, `SELECT type, sql LIKE '%conflict%', rootpage = 0, name, sql
		FROM main.sqlite_schema WHERE tbl_name = ? AND type IN ('trigger', 'table') ORDER BY rowid`, t.name)
	for _, row := range found {
		if row[0] == "trigger" && t.filling.TriggersOff {
			t.drop = append(t.drop, "DROP TRIGGER main."+sqlite3.QuoteIdentifier(row[3]))
			t.restore = append(t.restore, row[4])
			continue
		}
		t.triggers = t.triggers || row[0] == "trigger"
		if row[0] == "table" {
			t.resolves, t.virtual = row[1] == "1", row[2] == "1"
		}
	}
	return err
}

// verb begins the statement that adds rows. ABORT is what SQLite does anyway with a row that is in conflict, unless the
// table says otherwise. It would also take the place of what the statements of triggers say.
func (t *table) verb() string {
	if t.resolves && !t.triggers {
		return "INSERT OR ABORT"
	}
	return "INSERT"
}

// keeps reports whether a row of the table stays as it is if a new one has the same key.
func (t *table) keeps() bool {
	switch t.filling.Conflict {
	case sink.Ignore:
		return true
	case sink.Update:
		return !slices.ContainsFunc(t.plan.Columns, func(c source.Column) bool { return !t.isKey(c.Name) })
	}
	return false
}

// isKey reports whether a column is of the key by which rows are replaced.
func (t *table) isKey(name string) bool {
	return slices.ContainsFunc(t.filling.Key, func(key string) bool { return strings.EqualFold(key, name) })
}

// insertSQL adds a number of rows.
func (t *table) insertSQL(verb string, rows int) string {
	var names, marks []string
	for _, c := range t.plan.Columns {
		names, marks = append(names, sqlite3.QuoteIdentifier(c.Name)), append(marks, "?")
	}
	row := "(" + strings.Join(marks, ", ") + ")"
	return verb + " INTO " + t.sql + " (" + strings.Join(names, ", ") + ") VALUES " + row +
		strings.Repeat(", "+row, rows-1)
}

// statement returns the statement that adds a number of rows.
func (t *table) statement(rows int) string {
	sql := t.insertSQL(t.verb(), rows)
	switch {
	case t.filling.Conflict == sink.Ignore || t.filling.Conflict == sink.Fail && t.resolves && t.triggers:
		return sql + " ON CONFLICT DO NOTHING" // with Fail, each row has to be added
	case t.filling.Conflict == sink.Fail:
		return sql
	}
	var key, updates []string
	for _, name := range t.filling.Key {
		key = append(key, sqlite3.QuoteIdentifier(name))
	}
	for _, c := range t.plan.Columns {
		if quoted := sqlite3.QuoteIdentifier(c.Name); !t.isKey(c.Name) {
			updates = append(updates, quoted+" = excluded."+quoted)
		}
	}
	sql += " ON CONFLICT (" + strings.Join(key, ", ") + ") DO "
	if len(updates) == 0 {
		return sql + "NOTHING"
	}
	return sql + "UPDATE SET " + strings.Join(updates, ", ")
}

// columnIn returns the column that a message of SQLite names as "orders.id", or "" if it names none or several.
func (t *table) columnIn(text string) string {
	if name, found := strings.CutPrefix(text, t.name+"."); found && t.indexOf(name) >= 0 {
		return name
	}
	return ""
}

// indexOf returns the place of a column in the rows, or -1.
func (t *table) indexOf(name string) int {
	return slices.IndexFunc(t.plan.Columns, func(c source.Column) bool { return name != "" && c.Name == name })
}
