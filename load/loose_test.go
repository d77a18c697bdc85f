package load_test

import (
	"errors"
	"path/filepath"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/load"
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
		{"2026-01-01 00:00:00", "June 8 2026", "10:00", ""},
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
			row, refused := errors.AsType[*format.RowError](err)
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
