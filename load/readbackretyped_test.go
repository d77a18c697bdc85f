package load_test

import (
	"fmt"
	"testing"
)

// TestReadBackRetyped reads back values whose column has another type than in the source, of the same system, and
// prints them in another text.
func TestReadBackRetyped(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		open  func(*testing.T) database
		types [][3]string // of the source, with a value, and of the table
	}{
		"PostgreSQL": {randomPostgres, [][3]string{
			{"numeric(10,2)", "1.50", "numeric(10,4)"},
			{"numeric(10,2)", "-1.50", "numeric"},
			{"integer", "7", "numeric(10,2)"},
			{"integer", "7", "character(3)"},
			{"bigint", "7", "double precision"},
			{"boolean", "true", "character(5)"},
			{"numeric(10,2)", "1.50", "character(8)"},
			{"timestamp(0)", "'2026-01-02 03:04:05'", "timestamp(6)"},
			{"date", "'2026-01-02'", "character(12)"},
			{"char(5)[]", `'{ab,"c,\"",NULL}'`, "char(8)[]"},
			{"char(5)[]", "'[0:1][1:2]={{ab,c},{null,\"\"}}'", "char(9)[]"},
			{"varchar(5)[]", "'{ab,c}'", "char(8)[]"},
			{"numeric(10,2)[]", "'{1.50,-2,NULL,NaN}'", "numeric(10,4)[]"},
			{"numeric(10,2)[]", "'{1.50}'", "numeric[]"},
			{"integer[]", "'{{7},{8}}'", "numeric(10,2)[]"},
			{"integer[]", "'{7}'", "double precision[]"},
			{"timestamp(0)[]", "'{2026-01-02 03:04:05}'", "timestamp(6)[]"},
			{"boolean[]", "'{true,f}'", "text[]"},
			{"real[]", "'{1.5,1e20}'", "double precision[]"},
			{"bit(3)[]", "'{101}'", "varbit(5)[]"},
			{"time(0)[]", "'{03:04:05}'", "time(3)[]"},
			{"text[]", "'{a,\"b c\",\"null\"}'", "varchar(9)[]"},
			{"jsonb[]", `'{"{\"a\": 1.50}"}'`, "json[]"},
		}},
		"MariaDB": {randomMariaDB, [][3]string{
			{"decimal(10,2)", "1.50", "decimal(10,4)"},
			{"int", "7", "decimal(10,2)"},
			{"int", "7", "char(3)"},
			{"datetime", "'2026-01-02 03:04:05'", "datetime(6)"},
			{"char(5)", "'ab'", "varchar(8)"},
		}},
		"SQLite": {randomSQLite, [][3]string{
			{"integer", "7", "real"},
			{"decimal(10,2)", "1.5", "real"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := test.open(t), test.open(t)
			for i, v := range test.types {
				table := fmt.Sprint("t", i)
				from.exec("CREATE TABLE " + table + " (id int, v " + v[0] + ")")
				from.exec("INSERT INTO " + table + " VALUES (1, " + v[1] + "), (2, NULL)")
				src, err := from.source()
				if err != nil {
					t.Fatal(err)
				}
				for way, fill := range waysOf(t, src, table) {
					to.exec("DROP TABLE IF EXISTS copies")
					to.exec("CREATE TABLE copies (id int, v " + v[2] + ")")
					dst, err := to.sink()
					if err != nil {
						t.Fatal(err)
					}
					if err := fill(dst); err != nil {
						t.Errorf("%s of %q: %v", way, v, err)
					}
					closing(t, dst)
				}
				closing(t, src)
			}
		})
	}
}
