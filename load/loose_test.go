package load_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"culvert/export"
	"culvert/load"
	"culvert/sink"
	"culvert/source"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// newLite makes a database of SQLite by statements.
func newLite(t *testing.T, statements ...string) source.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lite.db")
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range statements {
		if err := db.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return openSQLite(t, path)
}

// TestTimesOfSQLite refuses times of which PostgreSQL would drop a part, and takes others as they are.
func TestTimesOfSQLite(t *testing.T) {
	const table = "CREATE TABLE t (at DATETIME, day DATE, clock TIME, zoned TIMESTAMPTZ)"
	for _, test := range []struct{ at, day, clock, column string }{
		{"2026-01-01 00:00:00", "2026-01-01", "10:00:00", ""},
		{"2026-01-01 00:00:00Z", "2026-01-01 00:00:00", "10:00:00+00:00", ""},
		{"2026-01-01T00:00:00.123456+00:00", "2026-01-01T00:00:00Z", "10:00", ""},
		{"2026-01-01 00:00:00-00", "2026-01-01 00:00:00.000+05:30", "10:00", ""},
		{"2026-01-01 00:00:00", "June 8 2026", "10:00", "day"},
		{"2026-01-01 00:00:00", "2026-01-01 10:00", "10:00", "day"},
		{"2026-01-01 00:00:00", "2026-01-01 00:00:00.1", "10:00", "day"},
		{"2026-01-01 00:00:00+02:00", "2026-01-01", "10:00:00", "at"},
		{"2026-01-01 00:00:00.5 -00:30", "2026-01-01", "10:00:00", "at"},
		{"2026-01-01 00:00+10", "2026-01-01", "10:00:00", "at"},
		{"2026-01-01 00:00:00", "2026-01-01 00:00:01", "10:00:00", "day"},
		{"2026-01-01 00:00:00", "2026-01-01T23:00:00Z", "10:00:00", "day"},
		{"2026-01-01 00:00:00", "2026-01-01", "10:00:00+01:00", "clock"},
		{"2026-01-01 00:00:00", "2026-01-01", "10:00-08", "clock"},
	} {
		src := newLite(t, table, "INSERT INTO t VALUES (NULL, NULL, NULL, '2026-01-01 00:00:00+02:00'), ('"+
			test.at+"', '"+test.day+"', '"+test.clock+"', NULL)")
		backup := newBackupOf(t, src, export.Plan{}, 0, "t")
		for _, text := range []bool{true, false} {
			to, dst := newPostgres(t, "CREATE TABLE unrelated (id int)")
			plan := load.Plan{Create: true}
			_, err := plan.Directory(t.Context(), dst, backup.Directory, nil)
			if !text {
				to, dst = newPostgres(t, "CREATE TABLE unrelated (id int)")
				_, err = plan.Copy(t.Context(), dst, src, "t", "t")
			}
			row, refused := errors.AsType[*sink.RowError](err)
			if refused != (test.column != "") || refused && (row.Column != test.column || row.Row != 2) {
				t.Errorf("%v: %v", test, err)
			}
			if err == nil && test.column == "" {
				if rows := to.Query(t, "SELECT count(*) FROM t")[0][0]; rows != "2" {
					t.Errorf("%v: %s rows", test, rows)
				}
			}
		}
	}
}

// TestInfinityOfSQLite keeps numbers that are too large.
func TestInfinityOfSQLite(t *testing.T) {
	src := newLite(t, "CREATE TABLE t (r REAL, n NUMERIC)",
		"INSERT INTO t VALUES (9e999, 1), (-9e999, 2), (1.5, 9e999)")
	backup := newBackupOf(t, src, export.Plan{}, 0, "t")
	plan := load.Plan{Create: true}
	const sql = "SELECT string_agg(t::text, ' ' ORDER BY t) FROM t"
	const want = "(-Infinity,2) (1.5,Infinity) (Infinity,1)"
	to, dst := newPostgres(t, "CREATE TABLE unrelated (id int)")
	if _, err := plan.Directory(t.Context(), dst, backup.Directory, nil); err != nil {
		t.Errorf("%v", err)
	} else if got := to.Query(t, sql)[0][0]; got != want {
		t.Errorf("a load: %s", got)
	}
	to, dst = newPostgres(t, "CREATE TABLE unrelated (id int)")
	if _, err := plan.Copy(t.Context(), dst, src, "t", "t"); err != nil {
		t.Errorf("%v", err)
	} else if got := to.Query(t, sql)[0][0]; got != want {
		t.Errorf("a copy: %s", got)
	}
}

// TestValuesOfSQLite loads values of SQLite, which has any in any column, into columns of PostgreSQL, which reads some
// of them as others. Such values are refused unless the column is named.
func TestValuesOfSQLite(t *testing.T) {
	tests := []struct{ declared, value, to, want string }{ // none if the value is refused
		{"DATE", "1709164800", "date", ""},
		{"DATE", "2460369.5", "date", ""},
		{"DATE", "'2460369'", "date", ""},
		{"DATE", "'20240229'", "date", ""},
		{"DATE", "'now'", "date", ""},
		{"DATE", "'today'", "date", ""},
		{"DATE", "'epoch'", "date", ""},
		{"DATE", "'2024-2-9'", "date", "2024-02-09"},
		{"DATE", "'infinity'", "date", "infinity"},
		{"DATETIME", "1709164800", "timestamp", ""},
		{"DATETIME", "'now'", "timestamptz", ""},
		{"DATETIME", "'2024-02-29 10:00 Europe/Berlin'", "timestamptz", ""},
		{"DATETIME", "'2024-02-29 10:00 EST'", "timestamptz", ""},
		{"DATETIME", "'2024-02-29 10:00:00.5+02:00'", "timestamptz", "2024-02-29 08:00:00.5+00"},
		{"DATETIME", "'2024-02-29 10:00:00.1234567'", "timestamp", ""},
		{"DATETIME", "'2024-02-29 10:00:00.1200000'", "timestamp(2)", "2024-02-29 10:00:00.12"},
		{"DATETIME", "'2024-02-29 24:00:00'", "timestamp", ""},
		{"TIME", "'allballs'", "time", ""},
		{"TIME", "'10:11:12.5'", "time", "10:11:12.5"},
		{"TEXT", "'1.5 days'", "interval", ""},
		{"TEXT", "'1 day 02:03:04'", "interval", "1 day 02:03:04"},
		{"TEXT", "'007'", "integer", ""},
		{"TEXT", "' 7'", "bigint", ""},
		{"TEXT", "'-7'", "bigint", "-7"},
		{"TEXT", "'1.50'", "numeric", "1.50"},
		{"TEXT", "'0x1F'", "integer", ""},
		{"NUMERIC", "1.239", "numeric(10,2)", ""},
		{"NUMERIC", "1.5", "numeric(10,2)", "1.50"},
		{"INTEGER", "9007199254740993", "double precision", ""},
		{"REAL", "0.1234567890123", "real", ""},
		{"REAL", "0.1", "real", "0.1"},
		{"REAL", "1e300", "double precision", "1e+300"},
		{"TEXT", "'on'", "boolean", ""},
		{"BOOLEAN", "1", "boolean", "t"},
		{"BLOB", "'a\\\\b'", "bytea", `\x615c5c62`},
		{"BLOB", "'\\101'", "bytea", `\x5c313031`},
		{"BLOB", "x'00ff'", "bytea", `\x00ff`},
		{"BLOB", "17", "bytea", `\x3137`},
		{"TEXT", "'ab   '", "varchar(3)", ""},
		{"TEXT", "'ab '", "varchar(3)", "ab "},
		{"TEXT", "'x'", "name", "x"},
		{"TEXT", "replace(hex(zeroblob(40)), '00', 'é')", "name", ""},
		{"TEXT", "'10'", "cidr", ""},
		{"TEXT", "'10.0.0.0/8'", "cidr", "10.0.0.0/8"},
		{"TEXT", "'B101'", "bit(3)", ""},
		{"TEXT", "'now'", "moment", ""},
		{"TEXT", "'$1'", "money", ""},
	}
	setup := []string{"CREATE DOMAIN moment AS timestamp"}
	var lite []string
	for i, test := range tests {
		setup = append(setup, fmt.Sprintf("CREATE TABLE t%d (v %s)", i, test.to))
		lite = append(lite, fmt.Sprintf("CREATE TABLE t%d (v %s)", i, test.declared),
			fmt.Sprintf("INSERT INTO t%d VALUES (%s)", i, test.value))
	}
	src := newLite(t, lite...)
	to, dst := newPostgres(t, strings.Join(setup, ";"))
	for i, test := range tests {
		name := fmt.Sprint("t", i)
		plan := load.Plan{}
		_, err := plan.Copy(t.Context(), dst, src, name, name)
		row, refused := errors.AsType[*sink.RowError](err)
		switch {
		case test.want == "" && (!refused || !errors.Is(err, sink.ErrChanged) || row.Row != 1 || row.Column != "v"):
			t.Errorf("%v is not refused: %v", test, err)
		case test.want != "" && err != nil:
			t.Errorf("%v: %v", test, err)
		case test.want != "":
			if got := to.Query(t, "SELECT v FROM "+name)[0][0]; got != test.want {
				t.Errorf("%v became %s", test, got)
			}
		}
	}
	plan := load.Plan{Filling: sink.Filling{Convert: []string{"v"}}}
	if _, err := plan.Copy(t.Context(), dst, src, "t21", "t21"); err != nil {
		t.Error(err)
	} else if got := to.Query(t, "SELECT v FROM t21")[0][0]; got != "7" {
		t.Errorf("%s in a column that may change values", got)
	}
}
