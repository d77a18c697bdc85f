package fill_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"culvert/sink"
	"culvert/sink/sinktest"
	"culvert/source"
	"culvert/sqlite/internal/dbfile"
	"culvert/sqlite/internal/fill"
	sqlitesource "culvert/sqlite/internal/read"
)

// whole makes everything that a schema can have.
const whole = `
CREATE TABLE customers (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE, up INTEGER
	REFERENCES customers, CHECK (name <> ''));
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer REFERENCES customers ON DELETE CASCADE, paid REAL DEFAULT 0.5,
	twice AS (paid * 2) STORED, note TEXT);
CREATE INDEX "of expression" ON orders (lower(note), paid DESC) WHERE paid > 0;
CREATE UNIQUE INDEX names ON customers (name);
CREATE TABLE strict_t (k TEXT, v ANY, PRIMARY KEY (k, v)) STRICT, WITHOUT ROWID;
INSERT INTO customers VALUES (1, 'one', NULL), (2, 'two', 1), (9, 'nine', 2);
DELETE FROM customers WHERE id = 9;
INSERT INTO orders (id, customer, paid, note) VALUES (1, 1, 2.5, 'some words'), (2, 2, 0, 'other words');
INSERT INTO strict_t VALUES ('a', 1), ('b', 'x');
CREATE VIEW zz (i, t) AS SELECT id, 'it''s;' FROM orders -- why
WHERE paid > 0;
CREATE VIEW IF NOT EXISTS "a ""view""" AS SELECT zz.i, "double" AS d FROM zz;
CREATE VIEW broken AS SELECT * FROM nowhere;
CREATE VIRTUAL TABLE texts USING fts5(title, body, tokenize = 'porter');
INSERT INTO texts VALUES ('Title', 'running words');
INSERT INTO texts(texts, rank) VALUES ('rank', 'bm25(10.0, 5.0)'), ('automerge', 7);
CREATE VIRTUAL TABLE notes USING fts5(note, content = 'orders', content_rowid = 'id');
INSERT INTO notes(notes) VALUES ('rebuild');
CREATE VIEW lines AS SELECT id, note AS line FROM orders;
CREATE VIRTUAL TABLE lines_i USING fts5(line, content = 'lines', content_rowid = 'id');
INSERT INTO lines_i(lines_i) VALUES ('rebuild');
CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1, +what TEXT);
INSERT INTO boxes VALUES (1, 0, 1, 'a box');
CREATE TRIGGER "first" AFTER INSERT ON orders WHEN new.paid > 0 BEGIN
	UPDATE orders SET note = 'fired; -- ' || new.id WHERE id = new.id;
	INSERT INTO notes(rowid, note) VALUES (new.id, 1);
END;
CREATE TRIGGER of_view INSTEAD OF INSERT ON zz BEGIN INSERT INTO orders (id) VALUES (new.i); END;
CREATE TRIGGER IF NOT EXISTS main.deleted BEFORE DELETE ON customers BEGIN SELECT RAISE(ABORT, 'no'); END;
PRAGMA user_version = -7;
PRAGMA application_id = 252006674;`

func TestRestore(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.db")
	run(t, own, whole)
	openSource := func(t *testing.T, path string) source.Source {
		src, err := sqlitesource.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	sinktest.Restore(t, sinktest.Restoring{
		Source: func(t *testing.T) source.Source { return openSource(t, own) },
		Dump:   dump(t, own),
		Fails:  "CREATE TRIGGER fails AFTER INSERT ON missing BEGIN SELECT 1; END",
		Mends:  []string{"CREATE TABLE missing (id)"},
		Undo:   []string{"DROP TABLE missing"},
		Refused: []string{
			"DROP TABLE orders", "ATTACH 'x' AS y", "PRAGMA writable_schema = 1",
			"PRAGMA user_version = 7; DROP TABLE t",
			"INSERT INTO main.\"t\" (\"t\") VALUES (1)", "CREATE TABLE t (id)",
		},
		New: func(t *testing.T) sinktest.Restored {
			path := filepath.Join(t.TempDir(), "new.db")
			return sinktest.Restored{
				Open: func(t *testing.T) sink.Sink {
					db, err := fill.Create(path)
					if err != nil {
						t.Fatal(err)
					}
					return db
				},
				Source: func(t *testing.T) source.Source { return openSource(t, path) },
				Exec:   func(t *testing.T, sql string) { run(t, path, sql) },
				Dump:   func(t *testing.T) string { return dump(t, path) },
			}
		},
	})
}

// run runs SQL with the modules of the sqlite3 program.
func run(t *testing.T, path, sql string) {
	t.Helper()
	conn, err := dbfile.Open(dbfile.File{Path: path, Mode: "rwc"})
	if err == nil {
		err = errors.Join(conn.Exec(sql), conn.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dump returns what the commands .schema, .dump and PRAGMA of the sqlite3 program print of a schema.
func dump(t *testing.T, path string) string {
	t.Helper()
	conn, err := dbfile.Open(dbfile.File{Path: path, Mode: "ro"})
	if err != nil {
		t.Fatal(err)
	}
	stmt, _, err := conn.Prepare(`
		SELECT * FROM (SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name)
		UNION ALL SELECT name || ' = ' || seq FROM sqlite_sequence
		UNION ALL SELECT 'texts: ' || k || ' = ' || v FROM texts_config
		UNION ALL SELECT 'found: ' || rowid FROM notes('words')
		UNION ALL SELECT 'found: ' || rowid FROM lines_i('words')
		UNION ALL SELECT user_version FROM pragma_user_version
		UNION ALL SELECT application_id FROM pragma_application_id`)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for stmt.Step() {
		text.WriteString(stmt.ColumnText(0) + "\n")
	}
	if err := errors.Join(stmt.Close(), conn.Close()); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
