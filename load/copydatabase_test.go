package load_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
	"github.com/ncruces/go-sqlite3/ext/rtree"

	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite"
)

// system is one whose tables are made by their definitions.
type system struct {
	src  source.Source
	dst  sink.Sink
	exec func(sql string)        // in the target
	rows func(sql string) string // of the target

	dumps func() (was, is string) // the schemas of both, as the system prints them
}

func sqliteSystem(t *testing.T, sql string) system {
	t.Helper()
	was, is := filepath.Join(t.TempDir(), "was.db"), filepath.Join(t.TempDir(), "is.db")
	open := func(path string) *sqlite3.Conn {
		conn, err := sqlite3.Open(path)
		if err == nil {
			err = errors.Join(fts5.Register(conn), rtree.Register(conn))
		}
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	run := func(path, sql string) {
		conn := open(path)
		if err := errors.Join(conn.Exec(sql), conn.Close()); err != nil {
			t.Fatal(err)
		}
	}
	run(was, sql)
	src, err := sqlite.OpenSource(was)
	if err != nil {
		t.Fatal(err)
	}
	dst, err := sqlite.CreateSink(is)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(path, sql string) string {
		conn := open(path)
		defer closing(t, conn)
		stmt, _, err := conn.Prepare(sql)
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, stmt)
		var rows []string
		for stmt.Step() {
			rows = append(rows, stmt.ColumnText(0))
		}
		return strings.Join(rows, " ")
	}
	dump := func(path string) string {
		conn := open(path)
		defer closing(t, conn)
		return dumpSQLite(t, conn)
	}
	return system{
		src, dst, func(sql string) { run(is, sql) }, func(sql string) string { return rows(is, sql) },
		func() (string, string) { return dump(was), dump(is) },
	}
}

func mariaDBSystem(t *testing.T, sql string) system {
	t.Helper()
	server := testkit.MariaDB(t)
	was, is := server.NewDatabase(t), server.NewDatabase(t)
	was.Exec(t, sql)
	src, err := mysql.OpenSource(t.Context(), was.URL())
	if err != nil {
		t.Fatal(err)
	}
	dst, err := mysql.OpenSink(t.Context(), is.URL())
	if err != nil {
		t.Fatal(err)
	}
	return system{src, dst, func(sql string) { is.Exec(t, sql) }, func(sql string) string {
		var rows []string
		for _, row := range is.Query(t, sql) {
			rows = append(rows, row[0])
		}
		return strings.Join(rows, " ")
	}, func() (string, string) {
		own := func(text string) string {
			for _, name := range []string{was.Name, is.Name} {
				text = strings.ReplaceAll(text, "`"+name+"`.", "")
			}
			return text
		}
		return own(was.DumpRows(t)), own(is.DumpRows(t))
	}}
}

// TestCopyDatabaseGoesOn copies a database into one that has a table already. Without that table, the copy goes on.
func TestCopyDatabaseGoesOn(t *testing.T) {
	const tables = "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY REFERENCES a (id)); " +
		"CREATE TABLE c (id int PRIMARY KEY); CREATE VIEW v AS SELECT id FROM b; " +
		"INSERT INTO a VALUES (1), (2); INSERT INTO b VALUES (1), (2)"
	for name, open := range map[string]func(*testing.T, string) system{
		"SQLite": sqliteSystem, "MariaDB": mariaDBSystem,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, tables)
			defer closing(t, s.src)
			defer closing(t, s.dst)
			schema, err := source.SchemaOf(t.Context(), s.src, source.SchemaConfig{})
			if err != nil {
				t.Fatal(err)
			}
			names := []load.Names{{From: "a", To: "a"}, {From: "b", To: "b"}, {From: "c", To: "c"}}
			plan := load.Plan{ReadBack: true}
			s.exec("CREATE TABLE b (id int PRIMARY KEY); INSERT INTO b VALUES (9)")
			for range 2 {
				all, err := plan.CopyDatabase(t.Context(), s.dst, s.src, schema, names)
				partial, is := errors.AsType[*load.PartialError](err)
				if !is || partial.Failed != 1 || len(all) != 3 || !errors.Is(all[1].Err, sink.ErrExists) {
					t.Fatalf("a table that exists: %v: %+v", err, all)
				}
			}
			s.exec("DROP TABLE b; DELETE FROM a WHERE id = 2")
			all, err := plan.CopyDatabase(t.Context(), s.dst, s.src, schema, names)
			if _, is := errors.AsType[*load.PartialError](err); !is || !errors.Is(all[0].Err, sink.ErrGone) {
				t.Fatalf("a table whose rows are gone: %v: %+v", err, all)
			}
			s.exec("INSERT INTO a VALUES (2)")
			all, err = plan.CopyDatabase(t.Context(), s.dst, s.src, schema, names)
			if err != nil {
				t.Fatal(err)
			}
			for i, skipped := range []int{1, 1, 1} {
				if all[i].Skipped != skipped {
					t.Errorf("table %s: %d were skipped", all[i].Name, all[i].Skipped)
				}
			}
			if got := s.rows("SELECT id FROM a UNION ALL SELECT id FROM v"); got != "1 2 1 2" {
				t.Errorf("the rows are %s", got)
			}
		})
	}
}

// TestDatabaseTwice makes a database that is there already. The table that has rows is refused, and nothing of the
// second load is left.
func TestDatabaseTwice(t *testing.T) {
	const sql = "CREATE TABLE a (id int PRIMARY KEY, t text); CREATE TABLE b (id int PRIMARY KEY); " +
		"CREATE VIEW v AS SELECT id FROM b; INSERT INTO a VALUES (1, 'x')"
	for name, open := range map[string]func(*testing.T, string) system{
		"SQLite": sqliteSystem, "MariaDB": mariaDBSystem,
	} {
		for _, schemaOnly := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", name, schemaOnly), func(t *testing.T) {
				s := open(t, sql)
				defer closing(t, s.src)
				defer closing(t, s.dst)
				var plan load.Plan
				from := exported(t, s.src, true)
				if _, err := plan.Database(t.Context(), s.dst, from, "first"); err != nil {
					t.Fatal(err)
				}
				plan.SchemaOnly = schemaOnly
				_, err := plan.Database(t.Context(), s.dst, from, "second")
				if failed, is := errors.AsType[*load.PartialError](err); !is || failed.Failed != 1 {
					t.Fatalf("the second load: %v", err)
				}
				was, is := s.dumps()
				expectLines(t, "loaded twice", was, is)
			})
		}
	}
}
