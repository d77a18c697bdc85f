package load_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/sink"
	"culvert/source"
)

// typed are tables with columns whose types a user knows better, as each system makes them.
var typed = map[string]string{
	"PostgreSQL": `CREATE TABLE t (id bigint PRIMARY KEY, "odd . name" text DEFAULT '1', span interval,
		n int NOT NULL)`,
	"MariaDB": "CREATE TABLE t (id bigint PRIMARY KEY, `odd . name` varchar(9) CHARACTER SET latin1 DEFAULT '1', " +
		"span point, n int NOT NULL)",
	"SQLite": `CREATE TABLE t (id bigint PRIMARY KEY, "odd . name" TEXT DEFAULT '1', span FANCY, n int NOT NULL)`,
}

// sources open a database with these tables and two rows, of which a smallint and a text of two letters keep one.
func sources(t *testing.T) map[string]func(*testing.T) source.Source {
	t.Helper()
	rows := []string{"INSERT INTO t VALUES (1, '12', NULL, 7)", "INSERT INTO t VALUES (2, '123', NULL, 70000)"}
	return map[string]func(*testing.T) source.Source{
		"PostgreSQL": func(t *testing.T) source.Source {
			from, _ := newPostgres(t, typed["PostgreSQL"]+"; "+strings.Join(rows, "; "))
			return openPostgres(t, from)
		},
		"MariaDB": func(t *testing.T) source.Source {
			from := testkit.MariaDB(t).NewDatabase(t)
			from.Exec(t, typed["MariaDB"]+"; "+strings.Join(rows, "; "))
			src, err := mysql.OpenSource(t.Context(), from.URL())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { closing(t, src) })
			return src
		},
		"SQLite": func(t *testing.T) source.Source { return newLite(t, typed["SQLite"], rows[0], rows[1]) },
	}
}

// TestTypes gives columns other types, in each system and across them: the table has them, and they decide which values
// are refused.
func TestTypes(t *testing.T) {
	for from, open := range sources(t) {
		for to, side := range map[string]func(*testing.T) side{
			"PostgreSQL": postgresSide, "MariaDB": mariaDBSide, "SQLite": sqliteSide,
		} {
			t.Run(from+"/"+to, func(t *testing.T) {
				s, src := side(t), open(t)
				plan := load.Plan{Create: true, Types: []load.ColumnType{
					{Table: "t", Column: "odd . name", Type: "varCHAR ( 3 )"},
					{Table: "t", Column: "span", Type: "text"},
					{Table: "t", Column: "n", Type: "Dec(6,1)"},
				}}
				names := []load.Names{{From: "t", To: "t"}}
				all, err := plan.CopyTables(t.Context(), s.dst, src, names)
				if err != nil {
					t.Fatal(err)
				}
				if left := slices.DeleteFunc(all[0].Omitted, isCollation); len(left) > 0 {
					t.Errorf("left out are %q", left)
				}
				if s.try("INSERT INTO t (id, n) VALUES (3, NULL)") == nil {
					t.Error("NOT NULL was lost")
				}
				for _, sql := range []string{
					"INSERT INTO t (id, n) VALUES (3, 1)",
					"INSERT INTO t (id, n) SELECT 3, 1 FROM t WHERE id = 3 AND \"odd . name\" <> '1'",
					"INSERT INTO t (id, n, span) VALUES (4, 12345.5, 'any')",
				} {
					if err := s.try(sql); err != nil {
						t.Errorf("%s: %v", sql, err)
					}
				}
				if to == "SQLite" {
					return // which limits no type
				}
				if s.try("INSERT INTO t (id, n) VALUES (5, 1234567)") == nil {
					t.Error("n has not the type that it was given")
				}
				s = side(t)
				plan.Types = []load.ColumnType{{Table: "t", Column: "span", Type: "text"}, {
					Table: "t", Column: "odd . name", Type: "Character Varying(2)",
				}}
				_, err = plan.CopyTables(t.Context(), s.dst, src, names)
				if row, is := errors.AsType[*sink.RowError](err); !is || row.Row != 2 || row.Column != "odd . name" {
					t.Errorf("a text that is too long: %v", err)
				}
			})
		}
	}
}

// TestTypesUnknown has types for columns and tables that do not exist. Nothing is made.
func TestTypesUnknown(t *testing.T) {
	src := newLite(t, "CREATE TABLE t (id INTEGER PRIMARY KEY)")
	s := postgresSide(t)
	for name, one := range map[string]load.ColumnType{
		"table": {Table: "tt", Column: "id", Type: "int"}, "column": {Table: "t", Column: "idd", Type: "int"},
	} {
		plan := load.Plan{Create: true, Types: []load.ColumnType{one}}
		_, err := plan.CopyTables(t.Context(), s.dst, src, []load.Names{{From: "t", To: "t"}})
		if unknown, is := errors.AsType[*source.UnknownError](err); !is || unknown.What != name {
			t.Errorf("%+v: %v", one, err)
		}
		if _, err = plan.Copy(t.Context(), s.dst, src, "t", "t"); err == nil {
			t.Errorf("%+v: the table was copied", one)
		}
		if s.try("SELECT * FROM t") == nil {
			t.Errorf("%+v: the table was made", one)
		}
		plan.Create = false
		if _, err = plan.Copy(t.Context(), s.dst, src, "t", "t"); err == nil {
			t.Error("a table that exists gets types")
		}
	}
}
