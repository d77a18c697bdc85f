package sourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"culvert/source"
)

// testDefine asks for the definition of a table with a key, an index and an odd name, and of a view of it.
func testDefine(t *testing.T, f *Fixture) {
	const table = `define "t"`
	f.create(t, table, "id", "bigint NOT NULL PRIMARY KEY", "title", f.Text, "count", "bigint DEFAULT 7 NOT NULL")
	f.insert(t, table, "1, NULL, 2")
	f.Exec(t, "CREATE UNIQUE INDEX define_i ON "+f.Quote(table)+" (count, id)")
	f.Exec(t, "CREATE VIEW define_v AS SELECT id, title FROM "+f.Quote(table))
	t.Cleanup(func() { f.Exec(t, "DROP VIEW define_v") })
	src := f.open(t)
	definer := as[source.Definer](t, src)
	d := define(t, definer, table)
	if d.Name != table || d.Dialect == "" {
		t.Errorf("it is the table %q of %q", d.Name, d.Dialect)
	}
	expectColumns(t, src, table, d)
	for i, want := range []source.ColumnDefinition{{NotNull: true}, {}, {NotNull: true, Default: "7"}} {
		c := d.Columns[i]
		if c.NotNull != want.NotNull || strings.Trim(c.Default, "'") != want.Default || c.Generated != "" {
			t.Errorf("column %+v, want %+v", c, want)
		}
	}
	if key := d.PrimaryKey(); !slices.Equal(key, []string{"id"}) {
		t.Errorf("the primary key is %q", key)
	}
	columns := []string{"count", "id"}
	isUnique := slices.ContainsFunc(d.Indexes, func(i source.Index) bool {
		return i.Name == "define_i" && i.Unique && slices.Equal(i.Columns, columns) && i.Definition != ""
	}) || slices.ContainsFunc(d.Constraints, func(c source.Constraint) bool {
		return c.Name == "define_i" && c.Kind == source.Unique && slices.Equal(c.Columns, columns)
	})
	if !isUnique {
		t.Errorf("the index is not in %+v", d)
	}

	view := define(t, definer, "define_v")
	expectColumns(t, src, "define_v", view)
	if len(view.Constraints)+len(view.Indexes)+len(view.Sequences) > 0 || view.Create != "" || !view.IsView ||
		d.IsView {
		t.Errorf("the view is %+v", view)
	}
	expectUsable(t, src, table, 1)
}

// testNotNull asks which columns have no NULL: of a table, a prepared table and a selection from a table, and of
// relations that guarantee nothing.
func testNotNull(t *testing.T, f *Fixture) {
	const table = "not_null_t"
	f.create(t, table, "id", "bigint NOT NULL PRIMARY KEY", "title", f.Text, "count", "bigint NOT NULL")
	f.insert(t, table, "1, NULL, 2")
	f.Exec(t, "CREATE VIEW not_null_v AS SELECT a.id, b.count FROM not_null_t a LEFT JOIN not_null_t b ON b.id = 0")
	t.Cleanup(func() { f.Exec(t, "DROP VIEW not_null_v") })
	src := f.open(t)
	as[source.Definer](t, src) // others know nothing of tables
	ExpectNotNull(t, "the view", f.rows(t, src, "not_null_v"))
	src = f.open(t)
	ExpectNotNull(t, "the query", f.query(t, src, "SELECT id, count FROM not_null_t"))
	src = f.open(t)
	ExpectNotNull(t, table, f.rows(t, src, table), "id", "count")
	src = f.open(t)
	if err := source.Prepare(t.Context(), src, []string{table}); err != nil {
		t.Fatal(err)
	}
	ExpectNotNull(t, "the prepared table", f.rows(t, src, table), "id", "count")
	src = f.open(t)
	rows, err := as[source.Selector](t, src).Select(t.Context(), table, source.Selection{
		Columns: []string{"title", "count"}, Where: "id = 1",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closeRows(t, rows)
	ExpectNotNull(t, "the selection", rows, "count")
}

// ExpectNotNull compares the names of the columns of rows that have no NULL. The rows are those of a table or query.
func ExpectNotNull(t *testing.T, of string, rows source.Rows, want ...string) {
	t.Helper()
	var got []string
	for _, c := range rows.Columns() {
		if c.NotNull {
			got = append(got, c.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the columns %q of %s are NOT NULL, want %q", got, of, want)
	}
}

// testDefineRefused asks when there is no answer.
func testDefineRefused(t *testing.T, f *Fixture) {
	f.createMany(t, "define_many")
	src := f.open(t)
	definer := as[source.Definer](t, src)
	_, err := definer.Define(context.Background(), "no_such_table")
	expectUnknown(t, err, "table", "no_such_table")
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := definer.Define(canceled, "define_many"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: %v", err)
	}
}

// testDefineOpen asks while rows are open.
func testDefineOpen(t *testing.T, f *Fixture) {
	f.createMany(t, "define_many")
	src := f.open(t)
	definer := as[source.Definer](t, src)
	rows := f.rows(t, src, "define_many")
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := definer.Define(context.Background(), "define_many"); err == nil {
		t.Error("a table is defined while rows are open")
	}
	if rest := len(readAll(t, rows)); rest != manyRows-b.Rows() {
		t.Errorf("after that there are %d rows, want %d", rest, manyRows-b.Rows())
	}
}

// define returns a definition, which JSON keeps as it is.
func define(t *testing.T, definer source.Definer, table string) *source.Definition {
	t.Helper()
	d, err := definer.Define(context.Background(), table)
	if err != nil || d == nil {
		t.Fatalf("Define(%q): %v, error %v", table, d, err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	again := &source.Definition{IsView: d.IsView}
	if err := json.Unmarshal(text, again); err != nil || !reflect.DeepEqual(again, d) {
		t.Errorf("%s becomes %+v, error %v", text, again, err)
	}
	return d
}

// expectColumns compares the columns of a definition with those of the rows.
func expectColumns(t *testing.T, src source.Source, table string, d *source.Definition) {
	t.Helper()
	rows, err := src.Table(context.Background(), table)
	if err != nil {
		t.Fatal(err)
	}
	defer closeRows(t, rows)
	var columns []source.Column
	for _, c := range d.Columns {
		columns = append(columns, source.Column{Name: c.Name, Type: c.Type})
	}
	if !slices.EqualFunc(columns, rows.Columns(), func(defined, read source.Column) bool {
		return defined.Name == read.Name && defined.Type == read.Type
	}) {
		t.Errorf("the definition of %q has the columns %v, and its rows %v", table, columns, rows.Columns())
	}
}
