package fill_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/fill"
)

// newStock makes a database as the sqlite3 program would, which takes "x" for a text if nothing has that name.
func newStock(t *testing.T, sql string) string {
	t.Helper()
	path := newFile(t, "")
	conn := connect(t, path)
	for _, lenient := range []sqlite3.DBConfig{sqlite3.DBCONFIG_DQS_DDL, sqlite3.DBCONFIG_DQS_DML} {
		if _, err := conn.Config(lenient, true); err != nil {
			t.Fatal(err)
		}
	}
	err := conn.Exec("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF;" + sql)
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// family is a table t, and tables that refer to it in every way.
const family = `CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE cascading (id INTEGER PRIMARY KEY, t INT REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE nulling (id INTEGER PRIMARY KEY, t INT REFERENCES T (id) ON DELETE SET NULL);
CREATE TABLE naming (id INTEGER PRIMARY KEY, t TEXT REFERENCES t (name) ON DELETE SET DEFAULT ON UPDATE CASCADE);
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
INSERT INTO cascading VALUES (1, 1), (2, 2), (3, NULL);
INSERT INTO nulling SELECT * FROM cascading;
INSERT INTO naming VALUES (1, 'a'), (2, 'b'), (3, NULL)`

// TestOtherTablesStay loads a table that others refer to. Whatever becomes of its rows, theirs stay.
func TestOtherTablesStay(t *testing.T) {
	key := []string{"id"}
	for what, test := range map[string]struct {
		filling sink.Filling
		rows    string
		refused string // the table whose rows would refer to none
	}{
		"truncate":         {sink.Filling{Existing: sink.Truncate}, "1,a\n2,b\n4,d\n", ""},
		"swap":             {sink.Filling{Existing: sink.Swap}, "2,b\n1,a\n", ""},
		"truncate, a loss": {sink.Filling{Existing: sink.Truncate}, "1,a\n2,x\n", "naming"},
		"truncate, two":    {sink.Filling{Existing: sink.Truncate}, "1,a\n", "cascading"},
		"update":           {sink.Filling{Existing: sink.Append, Conflict: sink.Update, Key: key}, "3,x\n", ""},
		"update, a loss":   {sink.Filling{Existing: sink.Append, Conflict: sink.Update, Key: key}, "2,x\n", "naming"},
	} {
		path := newStock(t, family)
		before, _ := export(t, path, "t")
		err := load(t, path, test.filling, test.rows)
		row, is := errors.AsType[*sink.RowError](err)
		if is != (test.refused != "") || err != nil && !is ||
			is && (row.Table != test.refused || row.Code != "SQLITE_CONSTRAINT_FOREIGNKEY") {
			t.Errorf("%s: %v", what, err)
		}
		if after, _ := export(t, path, "t"); is && after != before {
			t.Errorf("%s: the table that is refused has %q", what, after)
		}
		for table, want := range map[string]string{
			"cascading": "1,1\n2,2\n3,\n", "nulling": "1,1\n2,2\n3,\n", "naming": "1,a\n2,b\n3,\n",
		} {
			if got, _ := export(t, path, table); got != want {
				t.Errorf("%s: table %s has %q", what, table, got)
			}
		}
	}
}

// TestDanglingBefore loads a table to which rows refer that have had no row there before.
func TestDanglingBefore(t *testing.T) {
	path := newStock(t, family+"; INSERT INTO cascading VALUES (9, 9); INSERT INTO naming VALUES (9, 'z')")
	if err := load(t, path, sink.Filling{Existing: sink.Truncate}, "1,a\n2,b\n"); err != nil {
		t.Error(err)
	}
	if err := load(t, path, sink.Filling{Existing: sink.Truncate}, "1,a\n9,b\n"); err == nil {
		t.Error("a row that had its row has lost it")
	}
	f := sink.Filling{
		Existing: sink.Truncate, EachPart: true, Ledger: &sink.Ledger{Table: "ledger", Load: "x"},
	}
	for range 2 { // what is committed by parts stays refused
		table, loader := begin(t, open(t, path), f)
		var err error
		if len(table.Loaded()) == 0 {
			err = loader.Load(batch(t, numberAndText, "1,a\n"))
			err = errors.Join(err, loader.EndPart(sink.Part{Name: "p", Rows: 1}))
		}
		if _, e := loader.Close(); err != nil || e != nil {
			t.Fatal(err, e)
		}
		if err := table.Commit(); err == nil {
			t.Error("rows refer to rows that were removed")
		}
	}
}

// TestDanglingInstead replaces rows so that another row of another table has no row than before.
func TestDanglingInstead(t *testing.T) {
	path := newStock(t, `CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
		CREATE TABLE other (id INTEGER PRIMARY KEY, t INT REFERENCES t); INSERT INTO t VALUES (1, 'a');
		INSERT INTO other VALUES (1, 1), (9, 9)`)
	for _, test := range []struct {
		rows  string
		isBad bool
	}{{"9,i\n", true}, {"1,a\n", false}, {"1,a\n9,i\n", false}, {"1,a\n", true}} {
		err := load(t, path, sink.Filling{Existing: sink.Truncate}, test.rows)
		if row, is := errors.AsType[*sink.RowError](err); is != test.isBad || is && row.Table != "other" {
			t.Errorf("%q: %v", test.rows, err)
		}
	}
}

// TestDanglingMirror replaces the rows of tables that refer to each other by rows that refer to none, as a file may
// have them. Rows of another table that have lost theirs already do not keep it from that, nor does a ledger.
func TestDanglingMirror(t *testing.T) {
	path := newStock(t, `CREATE TABLE t (id INTEGER PRIMARY KEY, t INT REFERENCES t);
		CREATE TABLE child (id INTEGER PRIMARY KEY, t INT REFERENCES t);
		CREATE TABLE other (id INTEGER PRIMARY KEY, t INT REFERENCES t); INSERT INTO other VALUES (9, 9)`)
	f := sink.Filling{Existing: sink.Truncate, Ledger: &sink.Ledger{Table: "ledger", Load: "x"}}
	for range 2 { // also if the ledger has them
		group, err := open(t, path).Group(t.Context(), []sink.Member{
			{Name: "t", Filling: f}, {Name: "child", Filling: f},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range group.Order() {
			table, err := group.Table(i)
			if err != nil {
				t.Fatal(err)
			}
			loader := table.Loaders()[0]
			if len(table.Loaded()) == 0 {
				err = loader.Load(batch(t, []source.Kind{source.Number, source.Number}, "1,7\n2,1\n"))
				err = errors.Join(err, loader.EndPart(sink.Part{Name: "p", Rows: 2}))
			}
			if _, e := loader.Close(); err != nil || e != nil {
				t.Fatal(err, e)
			}
			if err := table.Commit(); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(group.Commit(), group.Discard()); err != nil {
			t.Error(err)
		}
		for _, table := range []string{"t", "child"} {
			if got, _ := export(t, path, table); got != "1,7\n2,1\n" {
				t.Errorf("%s has %q", table, got)
			}
		}
	}
}

// TestDefinitions makes tables in an order, and with references and quotes, that only the defaults of SQLite allow.
func TestDefinitions(t *testing.T) {
	from := newStock(t, `CREATE TABLE a (id INTEGER PRIMARY KEY, b INT REFERENCES b ON DELETE RESTRICT);
CREATE TABLE b (id INTEGER PRIMARY KEY, a INT NOT NULL REFERENCES a DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE c (id INTEGER PRIMARY KEY, parent INT REFERENCES c);
CREATE TABLE d (id INTEGER PRIMARY KEY, gone INT REFERENCES nowhere (x));
CREATE TABLE e (id INTEGER PRIMARY KEY, state TEXT DEFAULT "new" CHECK (state IN ("new", "old")),
	shown AS (state || "!"));
CREATE INDEX open ON e (state) WHERE state = "new"`)
	to := newFile(t, "")
	db := open(t, to)
	defined := map[string]string{}
	for table, rows := range map[string]string{
		"a": "1,2\n", "b": "2,1\n", "c": "1,2\n2,1\n3,9\n", "d": "1,7\n", "e": "1,new\n2,old\n",
	} {
		d, want := define(t, from, table)
		kinds := []source.Kind{source.Number, source.Number}
		if table == "e" {
			kinds[1] = source.Text
		}
		if err := makeTable(t, db, table, sink.Filling{Create: d}, batch(t, kinds, rows)); err != nil {
			t.Errorf("table %s: %v", table, err)
			continue
		}
		defined[table] = want
	}
	for table, want := range defined {
		if _, got := define(t, to, table); got != want {
			t.Errorf("%s\nbecomes\n%s", want, got)
		}
	}
}

// TestTriggerWithQuotes fires a trigger that was made as the sqlite3 program allows.
func TestTriggerWithQuotes(t *testing.T) {
	path := newStock(t, `CREATE TABLE t (id, name); CREATE TABLE log (what, id);
CREATE TRIGGER logged AFTER INSERT ON t BEGIN INSERT INTO log VALUES ("added", new.id); END`)
	if err := load(t, path, sink.Filling{}, "1,a\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := export(t, path, "log"); got != "added,1\n" {
		t.Errorf("the trigger wrote %q", got)
	}
}

// TestReplacing appends to tables that replace rows with the same key by themselves.
func TestReplacing(t *testing.T) {
	const trigger = "; CREATE TABLE log (id); CREATE TRIGGER a AFTER INSERT ON t BEGIN" +
		" INSERT OR REPLACE INTO log VALUES (new.id); END"
	for _, sql := range []string{
		"CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT REPLACE, name)",
		"CREATE TABLE t (id INT UNIQUE ON CONFLICT REPLACE, name)" + trigger,
		"CREATE TABLE t (id INT UNIQUE ON CONFLICT IGNORE, name NOT NULL ON CONFLICT REPLACE DEFAULT 'x')",
		"CREATE TABLE t (id PRIMARY KEY ON CONFLICT FAIL, name) WITHOUT ROWID",
	} {
		for _, rows := range []string{"2,b\n1,z\n", "3,c\n2,b\n3,z\n"} {
			path := newStock(t, sql+"; INSERT INTO t VALUES (1, 'a')")
			if err := load(t, path, sink.Filling{Existing: sink.Append}, rows); err == nil {
				t.Errorf("%s: a row was replaced", sql)
			}
			if got, _ := export(t, path, "t"); got != "1,a\n" {
				t.Errorf("%s: the table has %q", sql, got)
			}
		}
		path := newStock(t, sql+"; INSERT INTO t VALUES (1, 'a')")
		f := sink.Filling{Existing: sink.Append, Conflict: sink.Ignore}
		if err := load(t, path, f, "1,z\n2,b\n"); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if got, _ := export(t, path, "t"); got != "1,a\n2,b\n" {
			t.Errorf("%s, rows with keys ignored: the table has %q", sql, got)
		}
	}
}

// TestNamedVirtual loads a table whose statement has the words of a virtual table, and a column of numbers.
func TestNamedVirtual(t *testing.T) {
	path := newFile(t, "CREATE TABLE t (id INT, name, twice AS (id * 2) VIRTUAL, table_name)")
	if err := load(t, path, sink.Filling{Columns: []string{"name", "id"}}, "1,007\n"); err == nil {
		t.Error("a number drops the zeros of a text")
	}
	f := sink.Filling{Columns: []string{"id", "rowid"}}
	if _, err := open(t, path).Table(context.Background(), "t", f); err == nil {
		t.Error("the table has a column rowid")
	}
}

// TestSettings loads a database that was locked when it was opened: the commit is synced as by the sqlite3 program.
func TestSettings(t *testing.T) {
	path := newFile(t, "PRAGMA journal_mode = WAL; CREATE TABLE t (id, name)")
	other := connect(t, path)
	const keep = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; INSERT INTO t VALUES (1, 'a')"
	if err := other.Exec(keep); err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	table, err := db.Table(context.Background(), "t", sink.Filling{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fill.Pragmas(t, db, "synchronous", "temp_store"); got != "2 2" {
		t.Errorf("synchronous and temp_store are %s", got)
	}
	if err := table.Discard(); err != nil {
		t.Error(err)
	}
}
