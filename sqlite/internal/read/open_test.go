package read_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
	"culvert/sqlite/internal/read"
)

func TestOpenWhatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	device := filepath.Join(dir, "device.db")
	if err := os.Symlink(os.DevNull, device); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(dir, "missing.db"), dir, text, "", ":memory:", os.DevNull, device,
	} {
		db, err := read.Open(path)
		if err == nil {
			closing(t, db)
		}
		if !errors.Is(err, source.ErrUnavailable) {
			t.Errorf("Open(%q): %v, want source.ErrUnavailable", path, err)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("Open(%q): the error %q does not name the file", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open has made the missing file, or worse: %v", err)
	}
}

func TestOpenRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	execute(t, openWriter(t, "a b?c#d%20.db"), "CREATE TABLE t (a)")
	expectRows(t, open(t, "a b?c#d%20.db"), "t")
}

// TestEmptyFile: to SQLite, a file of no bytes is a database without tables.
func TestEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, path).Table(t.Context(), "t")
	if unknown, ok := errors.AsType[*source.UnknownError](err); !ok || len(unknown.Known) != 0 {
		t.Errorf("Table of an empty file: %v, want *source.UnknownError without names", err)
	}
}

func TestTableNames(t *testing.T) {
	path, writer := newDatabase(t,
		"CREATE TABLE Todos (id INTEGER PRIMARY KEY AUTOINCREMENT, title)",
		"INSERT INTO Todos (title) VALUES ('a')",
		`CREATE TABLE "main.x" (a)`, `INSERT INTO "main.x" VALUES ('with main.')`,
		"CREATE TABLE x (a)", "INSERT INTO x VALUES ('without')",
		"CREATE TABLE Größe (a)", "INSERT INTO Größe VALUES (1)",
		"CREATE VIEW v AS SELECT 'view'",
	)
	db := open(t, path)
	for _, test := range []struct{ name, want string }{
		{"Todos", "1|a"},
		{"tODOS", "1|a"},
		{"main.Todos", "1|a"},
		{"MAIN.todos", "1|a"},
		{"main.x", "with main."},
		{"main.main.x", "with main."},
		{"x", "without"},
		{"GRößE", "1"},
		{"V", "view"},
		{"sqlite_sequence", "Todos|1"},
	} {
		t.Run(test.name, func(t *testing.T) { expectRows(t, db, test.name, test.want) })
	}
	for _, name := range []string{"main.", "temp.todos", "x.Todos", "GRÖßE", "Todos\x00", `"Todos"`, "sqlite_"} {
		_, err := db.Table(t.Context(), name)
		unknown, ok := errors.AsType[*source.UnknownError](err)
		if !ok {
			t.Errorf("Table(%q): %v, want *source.UnknownError", name, err)
		} else if want := []string{"Größe", "Todos", "main.x", "v", "x"}; !slices.Equal(unknown.Known, want) {
			t.Errorf("Table(%q): known names are %q, want %q", name, unknown.Known, want)
		}
	}

	// A table that is made, or changed, behind the back of an open database that has read nothing yet.
	closing(t, db)
	db = open(t, path)
	execute(t, writer, "CREATE TABLE later (a)", "INSERT INTO later VALUES ('new')")
	execute(t, writer, "ALTER TABLE Todos ADD COLUMN done")
	expectRows(t, db, "later", "new")
	expectRows(t, db, "Todos", "1|a|NULL")
}

func TestTableShapes(t *testing.T) {
	for _, test := range []struct {
		name string
		sql  []string
		want []string
	}{
		{
			"without rowid",
			[]string{"CREATE TABLE t (k TEXT PRIMARY KEY, v) WITHOUT ROWID", "INSERT INTO t VALUES ('b', 1), ('a', 2)"},
			[]string{"a|2", "b|1"},
		},
		{
			"generated columns",
			[]string{
				"CREATE TABLE t (a INT, b INT AS (a * 2) VIRTUAL, c TEXT AS (a || '!') STORED, d)",
				"INSERT INTO t (a, d) VALUES (21, 'd')",
			},
			[]string{"21|42|21!|d"},
		},
		{
			"strict",
			[]string{"CREATE TABLE t (a INT, b ANY) STRICT", "INSERT INTO t VALUES (1, 'x'), (2, 1.0)"},
			[]string{"1|x", "2|1.0"},
		},
		{
			"utf-16",
			[]string{"PRAGMA encoding = 'UTF-16le'", "CREATE TABLE t (a)", "INSERT INTO t VALUES ('grüße ✓ 😀'), ('')"},
			[]string{"grüße ✓ 😀", ""},
		},
		{
			"column added",
			[]string{
				"CREATE TABLE t (a)", "INSERT INTO t VALUES (1)", "ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'new'",
				"INSERT INTO t VALUES (2, NULL)",
			},
			[]string{"1|new", "2|NULL"},
		},
		{
			"column dropped",
			[]string{"CREATE TABLE t (a, b, c)", "INSERT INTO t VALUES (1, 2, 3)", "ALTER TABLE t DROP b"},
			[]string{"1|3"},
		},
		{
			"view of expressions",
			[]string{"CREATE VIEW t AS SELECT 1 + 1, 1.0 * 2, 'a' || 'b', x'00', NULL"},
			[]string{"2|2.0|ab|\x00|NULL"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, _ := newDatabase(t, test.sql...)
			expectRows(t, open(t, path), "t", test.want...)
		})
	}
}

func TestQueryRefuses(t *testing.T) {
	path, _ := newDatabase(t, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	for _, sql := range []string{
		"", " ; ", "-- only a comment", "\x00SELECT 1", "SELECT 1\x00; DROP TABLE t",
		"SELECT 1; SELECT 2", "SELECT 1; DROP TABLE t", "SELECT 1;; /* c */ ; SELECT 2", "SELECT 1; nonsense",
		"INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (2) RETURNING a", "DELETE FROM t", "CREATE TABLE u (a)",
		"CREATE TEMP TABLE u (a)", "DROP TABLE t", "BEGIN", "VACUUM",
		"PRAGMA user_version = 7", "PRAGMA journal_mode = WAL",
		"ATTACH '" + filepath.Join(t.TempDir(), "new.db") + "' AS other",
		"VACUUM INTO '" + filepath.Join(t.TempDir(), "copy.db") + "'",
	} {
		rows, err := db.Query(t.Context(), sql)
		if err == nil {
			t.Errorf("Query(%q) was not refused", sql)
			closing(t, rows)
		}
		expectRows(t, db, "t", "1")
	}
	for _, sql := range []string{
		"SELECT a FROM t;", "SELECT a FROM t ;; -- done", "SELECT a FROM t; /* done */ ;", "VALUES (1)",
	} {
		rows, err := db.Query(t.Context(), sql)
		if err != nil {
			t.Errorf("Query(%q): %v", sql, err)
			continue
		}
		expectText(t, rows, "1")
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, after) {
		t.Error("the file has been written to")
	}
}

// TestQueryParameters: SQLite takes a parameter without a value for NULL, which would quietly give other rows.
func TestQueryParameters(t *testing.T) {
	path, _ := newDatabase(t, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
	db := open(t, path)
	for _, parameter := range []string{":x", "?", "?2", "@x", "$x"} {
		rows, err := db.Query(t.Context(), "SELECT * FROM t WHERE a = "+parameter)
		if err == nil {
			closing(t, rows)
		}
		if err == nil || !strings.Contains(err.Error(), "parameters") {
			t.Errorf("Query with %s: %v", parameter, err)
		}
	}
	expectRows(t, db, "t", "1")
}

func TestOneRowsAtATime(t *testing.T) {
	path, _ := newDatabase(t, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
	db := open(t, path)
	rows, err := db.Table(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Table(t.Context(), "t"); err == nil {
		t.Error("a second Table was given while rows are open")
	}
	expectText(t, rows, "1")
}

func TestClosed(t *testing.T) {
	path, _ := newDatabase(t, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
	db, err := read.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Table(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Errorf("Close with open rows, or again: %v", err)
		}
	}
	var b source.Batch
	if err := rows.Next(&b); err == nil || err == io.EOF {
		t.Errorf("Next after the database was closed: %v", err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.Query(t.Context(), "SELECT 1"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Query after Close: %v, want source.ErrUnavailable", err)
	}
}

// newDatabase makes a database by some statements, and leaves the connection open.
func newDatabase(t *testing.T, sql ...string) (path string, writer *sqlite3.Conn) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "test.db")
	writer = openWriter(t, path)
	execute(t, writer, sql...)
	return path, writer
}

// expectRows checks a table, each row with its values in one string, between vertical bars.
func expectRows(t *testing.T, db *read.DB, table string, want ...string) {
	t.Helper()
	rows, err := db.Table(context.Background(), table)
	if err != nil {
		t.Fatalf("Table(%q): %v", table, err)
	}
	expectText(t, rows, want...)
}

func expectText(t *testing.T, rows source.Rows, want ...string) {
	t.Helper()
	var got []string
	err := readAll(rows, func(b *source.Batch) {
		for row := range b.Rows() {
			var line []string
			for column := range b.Columns() {
				kind, value := b.Value(row, column)
				if kind == source.Null {
					value = []byte("NULL")
				}
				line = append(line, string(value))
			}
			got = append(got, strings.Join(line, "|"))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the rows %q, want %q", got, want)
	}
}

// read reads and closes rows, with a nil error at their end.
func readAll(rows source.Rows, each func(*source.Batch)) error {
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			return rows.Close()
		}
		if err != nil {
			return errors.Join(err, rows.Close())
		}
		each(&b)
	}
}

// TestQuotedTexts reads views that were made with "x" as a text, as the sqlite3 program allows.
func TestQuotedTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quotes.db")
	writer := openWriter(t, path)
	for _, lenient := range []sqlite3.DBConfig{sqlite3.DBCONFIG_DQS_DDL, sqlite3.DBCONFIG_DQS_DML} {
		if _, err := writer.Config(lenient, true); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, writer, "CREATE TABLE t (state)", "INSERT INTO t VALUES ('new'), ('old')",
		`CREATE VIEW v AS SELECT state || "!" AS shown FROM t WHERE state = "new"`,
		`CREATE VIEW new AS SELECT state || "!" AS shown FROM t WHERE state = "new"`)
	db := open(t, path)
	for _, view := range []string{"v", "new"} {
		rows, err := db.Select(t.Context(), view, source.Selection{Where: "shown > 'a'"})
		if err != nil {
			t.Fatal(err)
		}
		var b source.Batch
		if err := rows.Next(&b); err != nil || b.Rows() != 1 {
			t.Fatal(b.Rows(), err)
		}
		if _, got := b.Value(0, 0); string(got) != "new!" {
			t.Errorf("the view %s has %q", view, got)
		}
		closing(t, rows)
	}
	if rows, err := db.Select(t.Context(), "t", source.Selection{Where: `"stat" = 'new'`}); err == nil {
		t.Error("a condition with a name that nothing has is taken")
		closing(t, rows)
	}
	for _, query := range []string{`SELECT "stat" FROM t`, `SELECT * FROM t WHERE "stat" = 'new'`} {
		if rows, err := db.Query(t.Context(), query); err == nil {
			t.Errorf("%s is taken", query)
			closing(t, rows)
		}
	}
}
