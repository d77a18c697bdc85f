package fill_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
	"github.com/ncruces/go-sqlite3/ext/rtree"

	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/fill"
	sqlitesource "culvert/sqlite/internal/read"
)

// texts has virtual tables of all kinds.
const texts = `CREATE TABLE doc (id INTEGER PRIMARY KEY, body TEXT);
INSERT INTO doc VALUES (7, 'hello world'), (9, 'good night');
CREATE VIRTUAL TABLE idx USING fts5(body, content='doc', content_rowid=id);
CREATE VIRTUAL TABLE "my ""notes""" USING fts5(title, body, tokenize = 'porter');
INSERT INTO "my ""notes""" (rowid, title, body) VALUES (3, 'a', 'running'), (500, 5, NULL), (6, 'x"y', 'walks');
CREATE VIRTUAL TABLE bare USING fts5(t, content = "");
INSERT INTO bare (rowid, t) VALUES (1, 'lost');
CREATE VIEW shown AS SELECT id, body FROM doc;
CREATE VIRTUAL TABLE of_view USING fts5(body, /* of , */ content=[shown], content_rowid=id);
CREATE VIRTUAL TABLE words USING fts5vocab(idx, row);
CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1, +name TEXT);
INSERT INTO boxes VALUES (4, 0.1, 0.7, 'box'), (5, -1e10, 1e10, NULL);
CREATE VIRTUAL TABLE shapes USING geopoly(name);
INSERT INTO shapes (rowid, _shape, name) VALUES (8, '[[0,0],[1,0],[0,1],[0,0]]', 'triangle')`

func connectWithModules(t *testing.T, path string) *sqlite3.Conn {
	t.Helper()
	conn := connect(t, path)
	if err := errors.Join(fts5.Register(conn), rtree.Register(conn)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// ask returns the texts of the first column of a query.
func ask(t *testing.T, path, sql string) (found []string) {
	t.Helper()
	conn := connectWithModules(t, path)
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	for stmt.Step() {
		found = append(found, stmt.ColumnText(0))
	}
	if err := errors.Join(stmt.Err(), stmt.Close(), conn.Close()); err != nil {
		t.Fatal(err)
	}
	return found
}

// copyAll makes and fills all tables of a file in another one, and reads them back.
func copyAll(t *testing.T, src *sqlitesource.DB, db *fill.DB) {
	t.Helper()
	tables, err := src.Tables(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		d, err := src.Define(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := src.Table(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range rows.Columns() {
			names = append(names, c.Name)
		}
		var b source.Batch
		if err := rows.Next(&b); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if err := makeTable(t, db, table, sink.Filling{Create: d, Columns: names}, &b); err != nil {
			t.Errorf("table %s: %v", table, err)
		}
	}
}

// TestVirtualTables makes virtual tables again in another file, and searches in them.
func TestVirtualTables(t *testing.T) {
	from, to := newFile(t, ""), newFile(t, "")
	conn := connectWithModules(t, from)
	if err := errors.Join(conn.Exec(texts+"; INSERT INTO idx (idx) VALUES ('rebuild');"+
		"INSERT INTO idx (idx, rank) VALUES ('rank', 'bm25(9)')"), conn.Close()); err != nil {
		t.Fatal(err)
	}
	src, err := sqlitesource.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}()
	want := []string{"boxes", "doc", `my "notes"`, "shapes"}
	if got, err := src.Tables(t.Context(), ""); err != nil || !slices.Equal(got, want) {
		t.Errorf("the tables are %q, %v", got, err)
	}
	omitted, err := src.Omitted(t.Context(), "")
	if err != nil || len(omitted) != 5 || !strings.Contains(omitted[0], "bare") ||
		!strings.Contains(omitted[1], "settings") || !strings.Contains(omitted[2], "of_view") ||
		!strings.Contains(omitted[3], "words") || omitted[4] != `the view "shown"` {
		t.Errorf("left out are %q, %v", omitted, err)
	}
	if _, err := src.Table(t.Context(), "bare"); err == nil {
		t.Error("an index without texts is read")
	}
	db := open(t, to)
	copyAll(t, src, db)
	for _, query := range []string{
		"SELECT rowid FROM idx WHERE idx MATCH 'hello'", `SELECT rowid FROM "my ""notes""" WHERE body MATCH 'run'`,
		`SELECT group_concat(rowid || quote(title) || quote(body), ' ') FROM "my ""notes"""`,
		"SELECT name FROM boxes WHERE x0 > 0 AND x1 < 1", "SELECT group_concat(quote(x0) || quote(x1)) FROM boxes",
		"SELECT rowid || name || geopoly_json(_shape) FROM shapes",
	} {
		got, want := ask(t, to, query), ask(t, from, query)
		if len(want) != 1 || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	// Existing ones are filled as other tables are.
	f := sink.Filling{Existing: sink.Truncate, Columns: []string{"rowid", "title"}}
	kinds := []source.Kind{source.Number, source.Text}
	if err := makeTable(t, db, `my "notes"`, f, batch(t, kinds, "77,walking\n")); err != nil {
		t.Error(err)
	}
	got := ask(t, to, `SELECT rowid FROM "my ""notes""" WHERE title MATCH 'walks'`)
	if !slices.Equal(got, []string{"77"}) {
		t.Errorf("the table that is filled again has %q", got)
	}
}
