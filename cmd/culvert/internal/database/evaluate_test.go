package database_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/cmd/culvert/internal/database"
	"culvert/internal/testkit"
	"culvert/source"
)

// evaluated are expressions of a database, with their values: "" is NULL, and !… a part of an error.
var evaluated = map[string]struct {
	open   func(t *testing.T) (url string)
	values map[string]string
}{
	"PostgreSQL": {
		func(t *testing.T) string {
			db := testkit.Postgres(t).NewDatabase(t)
			db.Exec(t, "CREATE TABLE t AS SELECT 1 AS id; CREATE SEQUENCE s; "+
				"CREATE FUNCTION fixed() RETURNS int LANGUAGE sql STABLE AS 'SELECT 5'; "+
				"CREATE FUNCTION other() RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN 5; END'")
			return "postgres:" + db.ConnString()
		},
		map[string]string{
			"1": "1", "NULL": "", "upper('a') -- ": "A", "fixed() + 1": "6", "now() = now()": "t",
			"random() < 2": volatile,
			"CASE WHEN random() < 0.5 THEN 1 ELSE 2 END": volatile, "clock_timestamp()::date": volatile,
			"other()": volatile, "(SELECT other())": "5", "(SELECT max(id) FROM t WHERE random() < 2)": "1",
			"(SELECT id FROM t) + other()": volatile, "nextval('s')": "!read-only transaction",
			"generate_series(1, 2)": noExpression, "1), (2": noExpression, "max(7)": "!aggregate functions",
			"nosuch": "!nosuch", "ROW(1, NULL)": "(1,)", "gen_random_uuid()": volatile, "(SELECT 1 WHERE false)": "",
		},
	},
	"MariaDB": {
		func(t *testing.T) string {
			db := testkit.MariaDB(t).NewDatabase(t)
			db.Exec(t, "CREATE TABLE t AS SELECT 1 AS id")
			return db.URL()
		},
		map[string]string{
			"1": "1", "NULL": "", "UPPER('a') -- ": "A", "NOW() = NOW()": "1", "RAND() < 0.5": volatile,
			"UUID()": volatile, "(SELECT MAX(id) FROM t)": "1", "1), (2": noExpression, "nosuch": "!nosuch",
		},
	},
	"SQLite": {
		func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "t.db")
			conn, err := sqlite3.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.Exec("CREATE TABLE t AS SELECT 1 AS id"); err != nil {
				t.Fatal(err)
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			return path
		},
		map[string]string{
			"1": "1", "NULL": "", "upper('a') -- ": "A", "datetime('now') = datetime('now')": "1",
			"random() < 0": volatile, "randomblob(4)": volatile, "(SELECT max(id) FROM t)": "1",
			"1), (2": noExpression, "nosuch": "!nosuch",
		},
	},
}

const (
	volatile     = "!the expression has another value each time"
	noExpression = "!it is no expression with one value"
)

// TestEvaluate has databases evaluate expressions, and refuse those that may have another value for each row.
func TestEvaluate(t *testing.T) {
	for name, test := range evaluated {
		t.Run(name, func(t *testing.T) {
			d, err := database.Parse(test.open(t))
			if err != nil {
				t.Fatal(err)
			}
			for expression, want := range test.values {
				kind, value, err := d.Evaluate(t.Context(), expression)
				refused, fails := strings.CutPrefix(want, "!")
				switch {
				case fails && (err == nil || !strings.Contains(err.Error(), refused)):
					t.Errorf("%s is %q, %v; want the error %q", expression, value, err, refused)
				case !fails && (err != nil || string(value) != want || (kind == source.Null) != (want == "")):
					t.Errorf("%s is %v %q, %v; want %q", expression, kind, value, err, want)
				}
			}
		})
	}
}
