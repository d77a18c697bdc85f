package load_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/load"
	"culvert/source"
	"culvert/source/sourcetest"
)

// TestRandomSchemasMariaDB takes databases of MariaDB with every clause into an export and back, and copies them.
func TestRandomSchemasMariaDB(t *testing.T) {
	eachSchema(t, sourcetest.MariaDBSchema(), func(t *testing.T, s *sourcetest.RandomSchema) {
		roundTrips(t, s, mariaDBSystem)
	})
}

// TestRandomSchemasSQLite takes databases of SQLite with every clause into an export and back, and copies them.
func TestRandomSchemasSQLite(t *testing.T) {
	eachSchema(t, sourcetest.SQLiteSchema(), func(t *testing.T, s *sourcetest.RandomSchema) {
		roundTrips(t, s, sqliteSystem)
	})
}

func roundTrips(t *testing.T, s *sourcetest.RandomSchema, open func(*testing.T, string) system) {
	for _, way := range []string{"loaded", "copied"} {
		one := open(t, strings.Join(s.Statements, ";\n"))
		defer closing(t, one.src)
		defer closing(t, one.dst)
		plan := load.Plan{ReadBack: true}
		var err error
		if way == "loaded" {
			_, err = plan.Database(t.Context(), one.dst, exported(t, one.src, true), "a load")
		} else {
			schema, e := source.SchemaOf(t.Context(), one.src, source.SchemaConfig{})
			if e != nil {
				t.Fatal(e)
			}
			var names []load.Names
			for _, name := range tablesOf(t, one.src) {
				names = append(names, load.Names{From: name, To: name})
			}
			_, err = plan.CopyDatabase(t.Context(), one.dst, one.src, schema, names)
		}
		if err != nil {
			t.Fatal(way, err)
		}
		was, is := one.dumps()
		expectLines(t, way, was, is)
	}
}

// expectLines compares the lines of two texts, in any order.
func expectLines(t *testing.T, what, want, got string) {
	t.Helper()
	left := map[string]int{}
	for line := range strings.SplitSeq(want, "\n") {
		left[line]++
	}
	for line := range strings.SplitSeq(got, "\n") {
		left[line]--
	}
	var lost, added []string
	for line, n := range left {
		if n > 0 {
			lost = append(lost, line)
		} else if n < 0 {
			added = append(added, line)
		}
	}
	if slices.Sort(lost); len(lost)+len(added) > 0 {
		slices.Sort(added)
		t.Errorf("%s: these are lost:\n%s\nthese are new:\n%s", what, strings.Join(lost, "\n"),
			strings.Join(added, "\n"))
	}
}

// dumpSQLite returns the statements and the rows of a database of SQLite, with its numbers.
func dumpSQLite(t *testing.T, conn *sqlite3.Conn) string {
	t.Helper()
	ask := func(sql string) (lines []string) {
		stmt, _, err := conn.Prepare(sql)
		if err != nil {
			t.Fatal(sql, err)
		}
		defer closing(t, stmt)
		for stmt.Step() {
			lines = append(lines, stmt.ColumnText(0))
		}
		return lines
	}
	lines := ask("SELECT type || ' ' || name || ' ' || ifnull(sql, '') FROM sqlite_schema" +
		" WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
	lines = append(lines, ask("SELECT 'numbers ' || user_version || ' ' || application_id"+
		" FROM pragma_user_version, pragma_application_id")...)
	for _, table := range ask("SELECT name FROM pragma_table_list WHERE schema = 'main' " +
		"AND type IN ('table', 'virtual') AND name <> 'sqlite_schema'") {
		var columns []string
		named := ask("SELECT name FROM pragma_table_xinfo(" + sqlite3.Quote(table) + ") WHERE hidden <> 1")
		for _, column := range named {
			columns = append(columns, "quote("+sqlite3.QuoteIdentifier(column)+")")
		}
		for _, row := range ask("SELECT " + strings.Join(columns, " || ', ' || ") + " FROM " +
			sqlite3.QuoteIdentifier(table)) {
			lines = append(lines, "row of "+table+": "+row)
		}
	}
	return strings.Join(lines, "\n")
}
