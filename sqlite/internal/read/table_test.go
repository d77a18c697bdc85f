package read_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culvert/source"
	"culvert/source/sourcetest"
	"culvert/sqlite/internal/read"
)

// openNew opens a database in which the statements have been run.
func openNew(t *testing.T, statements ...string) *read.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new.db")
	execute(t, openWriter(t, path), statements...)
	return open(t, path)
}

func TestTables(t *testing.T) {
	db := openNew(t,
		"CREATE TABLE b (id INTEGER PRIMARY KEY AUTOINCREMENT)", "CREATE TABLE A (id UNIQUE)",
		"CREATE VIEW v AS SELECT 1",
		"CREATE TABLE `main.b` (x)", "CREATE TABLE k (id TEXT PRIMARY KEY) WITHOUT ROWID", "INSERT INTO b VALUES (1)",
		"ANALYZE", "CREATE TEMPORARY TABLE gone (x)", "CREATE TABLE docs_content (c)", "CREATE TABLE Old_content (c)",
		"CREATE TABLE old_segdir (c)",
		"CREATE TABLE notes_content (c)", "PRAGMA writable_schema = on",
		"INSERT INTO sqlite_schema VALUES ('table', 'docs', 'docs', 0, 'CREATE VIRTUAL TABLE docs USING fts5(c)'),"+
			"('table', 'old', 'old', 0, 'CREATE VIRTUAL TABLE old USING fts4(c)'),"+
			"('table', 'notes', 'notes', 0, 'CREATE VIRTUAL TABLE notes USING fts5(c, tokenize=gone)')",
		"PRAGMA writable_schema = reset")
	want := []string{"A", "Old_content", "b", "docs_content", "k", "main.b", "notes_content"}
	omitted, err := db.Omitted(t.Context(), "main")
	if err != nil || len(omitted) != 4 || omitted[3] != `the view "v"` ||
		!strings.HasPrefix(omitted[2], `the virtual table "old" (fts4), which cannot be read`) {
		t.Errorf("left out are %q, %v", omitted, err)
	}
	for _, schema := range []string{"", "main", "MAIN"} {
		got, err := db.Tables(t.Context(), schema)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Tables(%q) = %q, %v; want %q", schema, got, err, want)
		}
	}
	_, err = db.Tables(t.Context(), "temp")
	unknown, ok := errors.AsType[*source.UnknownError](err)
	if !ok || unknown.What != "schema" || !slices.Equal(unknown.Known, []string{"main"}) {
		t.Errorf("Tables of another schema: %#v", err)
	}
}

// TestSelectNames compares names as SQLite does, and gives them as the table has them.
func TestSelectNames(t *testing.T) {
	db := openNew(t, "CREATE TABLE T (Id INTEGER, twice AS (id * 2), Ä)", "INSERT INTO t VALUES (3, 4)")
	rows, err := db.Select(t.Context(), "main.t", source.Selection{Columns: []string{"TWICE", "iD"}, Where: "ID = 3"})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, rows)
	if got := rows.Columns(); got[0].Name != "twice" || got[1].Name != "Id" || got[1].Type != "INTEGER" {
		t.Errorf("columns are %+v", got)
	}
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	if _, twice := b.Value(0, 0); string(twice) != "6" {
		t.Errorf("twice is %q", twice)
	}
}

func TestSelectNamesUnknown(t *testing.T) {
	db := openNew(t, "CREATE TABLE t (id, Ä)")
	for _, columns := range [][]string{{"ä"}, {"rowid"}, {"id", "_rowid_"}} {
		_, err := db.Select(t.Context(), "t", source.Selection{Columns: columns})
		if unknown, ok := errors.AsType[*source.UnknownError](err); !ok || unknown.What != "column" {
			t.Errorf("%q: %v", columns, err)
		}
	}
	if _, err := db.Select(t.Context(), "t", source.Selection{Columns: []string{"id", "ID"}}); err == nil {
		t.Error("a column can be asked for twice")
	}
	for _, where := range []string{
		`"no such" = 'no such'`, `id = "no ""such"""`, "id = ?", "id = :id",
	} {
		if _, err := db.Select(t.Context(), "t", source.Selection{Where: where}); err == nil {
			t.Errorf("the condition %q is taken", where)
		}
	}
}

func TestSize(t *testing.T) {
	const many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) INSERT INTO "
	db := openNew(t,
		"CREATE TABLE analyzed (id UNIQUE)", many+"analyzed SELECT i FROM n", "ANALYZE",
		"DELETE FROM analyzed WHERE id > 900",
		"CREATE TABLE counted (id INTEGER PRIMARY KEY, fill)", many+"counted SELECT i + 1000000, 'x' FROM n",
		"CREATE TABLE sparse (id INTEGER PRIMARY KEY)", many+"sparse SELECT i * 1000000000000 FROM n",
		"CREATE TABLE ends (id INTEGER PRIMARY KEY)",
		"INSERT INTO ends VALUES (9223372036854775807), (-9223372036854775808)",
		"CREATE TABLE keyed (id TEXT PRIMARY KEY) WITHOUT ROWID", many+"keyed SELECT i FROM n",
		"CREATE TABLE shadowed (rowid TEXT)", "INSERT INTO shadowed VALUES (7)",
		"CREATE TABLE zero (id INTEGER PRIMARY KEY)", "INSERT INTO zero VALUES (0)",
		"CREATE TABLE none (id)", "CREATE VIEW v AS SELECT * FROM counted")
	for _, test := range []struct {
		table string
		s     source.Selection
		want  int64
		rows  int
	}{
		{"analyzed", source.Selection{}, 1000, 900},
		{"counted", source.Selection{}, 1000, 1000},
		{"COUNTED", source.Selection{Columns: []string{"fill"}, Limit: 10}, 10, 10},
		{"counted", source.Selection{Where: "id = 1000001"}, 0, 1},
		{"sparse", source.Selection{}, 0, 1000},
		{"ends", source.Selection{}, 0, 2},
		{"keyed", source.Selection{}, 0, 1000},
		{"shadowed", source.Selection{}, 0, 1},
		{"zero", source.Selection{}, 1, 1},
		{"none", source.Selection{}, 0, 0},
		{"v", source.Selection{}, 0, 1000},
	} {
		rows, err := db.Select(context.Background(), test.table, test.s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rows.(source.Sized).Size()
		if err != nil || got != (source.Size{Rows: test.want}) {
			t.Errorf("%s %+v: size is %+v, %v; want %d rows", test.table, test.s, got, err, test.want)
		}
		count := 0
		var b source.Batch
		for err = rows.Next(&b); err == nil; err = rows.Next(&b) {
			count += b.Rows()
		}
		if count != test.rows || err != io.EOF {
			t.Errorf("%s %+v: %d rows, %v", test.table, test.s, count, err)
		}
		closing(t, rows)
		if _, err := rows.(source.Sized).Size(); err == nil {
			t.Errorf("%s %+v: Size of rows that are closed", test.table, test.s)
		}
	}
}

// TestNotNull finds the columns that have no NULL. Most primary keys of SQLite may have it.
func TestNotNull(t *testing.T) {
	db := openNew(t,
		"CREATE TABLE number (id INTEGER PRIMARY KEY, n INT NOT NULL, twice AS (n * 2) NOT NULL)",
		"CREATE TABLE falling (id INTEGER PRIMARY KEY DESC)",
		"CREATE TABLE named (id TEXT PRIMARY KEY)",
		"CREATE TABLE strict (id TEXT PRIMARY KEY, n INT) STRICT",
		"CREATE TABLE alone (a TEXT, b TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID",
		"CREATE VIEW seen AS SELECT * FROM number")
	for table, want := range map[string][]string{
		"number": {"id", "n"}, "falling": nil, "named": nil, "strict": {"id"}, "alone": {"a", "b"}, "seen": nil,
	} {
		rows, err := db.Table(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		sourcetest.ExpectNotNull(t, table, rows, want...)
		closing(t, rows)
	}
}
