package load_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/postgres"
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
	t.Parallel()
	const table = "CREATE TABLE t (at DATETIME, day DATE, clock TIME, zoned TIMESTAMPTZ)"
	to, dst := newPostgres(t, "CREATE TABLE unrelated (id int)")
	for _, test := range []struct{ at, day, clock, column string }{
		{"2026-01-01 00:00:00", "2026-01-01", "10:00:00", ""},
		{"2026-01-01 00:00:00Z", "2026-01-01 00:00:00", "10:00:00+00:00", ""},
		{"2026-01-01T00:00:00.123456+00:00", "2026-01-01T00:00:00Z", "10:00", ""},
		{"2026-01-01 00:00:00-00", "2026-01-01 00:00:00.000", "10:00", ""},
		{"2026-01-01 00:00:00", "2026-01-01 00:00:00.000+05:30", "10:00", "day"},
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
			to.Exec(t, "DROP TABLE IF EXISTS t")
			plan := load.Plan{Create: true}
			var err error
			if text {
				_, err = plan.Directory(t.Context(), dst, backup.Directory, nil)
			} else {
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
	t.Parallel()
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
		{"TEXT", "'on'", "boolean", "t"},
		{"TEXT", "'tr'", "boolean", ""},
		{"BOOLEAN", "1", "boolean", "t"},
		{"BLOB", "'a\\\\b'", "bytea", ""},
		{"BLOB", "'\\101'", "bytea", ""},
		{"BLOB", "x'00ff'", "bytea", `\x00ff`},
		{"BLOB", "17", "bytea", ""},
		{"TEXT", "'ab   '", "varchar(3)", ""},
		{"TEXT", "'ab '", "varchar(3)", "ab "},
		{"TEXT", "'x'", "name", "x"},
		{"TEXT", "replace(hex(zeroblob(40)), '00', 'é')", "name", ""},
		{"TEXT", "'10'", "cidr", ""},
		{"TEXT", "'10.0.0.0/8'", "cidr", "10.0.0.0/8"},
		{"TEXT", "'B101'", "bit(3)", ""},
		{"TEXT", "'now'", "moment", ""},
		{"TEXT", "'$1,000.50'", "money", "$1,000.50"},
		{"TEXT", "'12,50 €'", "money", ""},
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
	plan := load.Plan{Filling: sink.Filling{Convert: []string{"V"}}}
	if _, err := plan.Copy(t.Context(), dst, src, "t21", "t21"); err != nil {
		t.Error(err)
	} else if got := to.Query(t, "SELECT v FROM t21")[0][0]; got != "7" {
		t.Errorf("%s in a column that may change values", got)
	}
}

// foreign are values of files of other programs, whose columns have no types, in columns of PostgreSQL.
var foreign = []struct{ to, value, want string }{ // none if the value is refused
	{"date", "now", ""},
	{"date", "tomorrow", ""},
	{"date", "31.01.2026", ""},
	{"date", "2026-01-31", "2026-01-31"},
	{"timestamp", "today", ""},
	{"timestamp(0)", "2026-01-31 10:00:00.5", ""},
	{"timestamptz", "2026-01-31 10:00 EST", ""},
	{"timestamptz", "2026-01-31T10:00:00Z", "2026-01-31 10:00:00+00"},
	{"time(1)", "10:00:00.25", ""},
	{"interval(0)", "00:00:01.5", ""},
	{"interval", "1 day 02:00:00", "1 day 02:00:00"},
	{"numeric(6,2)", "1.005", ""},
	{"numeric(6,2)", "1.50", "1.50"},
	{"integer", "007", ""},
	{"integer", "+7", ""},
	{"integer", "7", "7"},
	{"real", "0.123456789", ""},
	{"double precision", "0.1", "0.1"},
	{"varchar(3)", "abc ", ""},
	{"char(3)", "abc  ", ""},
	{"varchar(3)", "äöü", "äöü"},
	{"boolean", "YES", "t"},
	{"boolean", "tr", ""},
	{"bytea", `\x0aff`, `\x0aff`},
	{"bytea", `\101`, ""},
	{"bytea", "abc", `\x616263`},
	{"money", "$1,000.50", "$1,000.50"},
	{"money", "1.000,50 €", ""},
	{"text", "007 now", "007 now"},
	{"uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
}

// TestForeignText loads CSV of other programs into PostgreSQL: with the value in each of several rows and forms.
func TestForeignText(t *testing.T) {
	t.Parallel()
	var setup []string
	for i, test := range foreign {
		setup = append(setup, fmt.Sprintf("CREATE TABLE t%d (a text, v %s, z int)", i, test.to))
	}
	to, dst := newPostgres(t, strings.Join(setup, ";"))
	for i, test := range foreign {
		name := fmt.Sprint("t", i)
		escaped := strings.ReplaceAll(test.value, `\`, `\\`)
		for what, text := range map[string]string{
			"plain":  "a,v,z\nx,,1\ny," + strings.ReplaceAll(test.value, ",", "") + ",2\n",
			"quoted": "a,v,z\n\"x,\n\"\"\",,1\ny,\"" + test.value + "\",2\n",
			"CRLF":   "a,z,v\r\nx,1,\r\ny,2,\"" + test.value + "\"\r\n",
			"jsonl":  `{"a": "x", "v": null}` + "\n" + `{"a": "y", "v": "` + escaped + `"}` + "\n",
		} {
			var f format.Readable = format.CSV{}
			if what == "jsonl" {
				f = format.JSONL{}
			}
			plan := load.Plan{Filling: sink.Filling{Existing: sink.Truncate}}
			_, err := plan.Text(t.Context(), dst, strings.NewReader(text), "t.csv", f, name)
			row, refused := errors.AsType[*sink.RowError](err)
			switch {
			case test.want == "" && what == "plain" && strings.Contains(test.value, ","):
			case test.want == "":
				if !refused || !errors.Is(err, sink.ErrChanged) || row.Row != 2 || row.Column != "v" {
					t.Errorf("%s: %v is not refused: %v", what, test, err)
				}
			case err != nil:
				t.Errorf("%s: %v: %v", what, test, err)
			default:
				if got := to.Query(t, "SELECT v FROM "+name+" WHERE a = 'y'")[0][0]; got != test.want {
					t.Errorf("%s: %v became %s", what, test, got)
				}
			}
		}
	}
	plan := load.Plan{Filling: sink.Filling{Convert: []string{"v"}, Existing: sink.Truncate}}
	if _, err := plan.Text(
		t.Context(), dst, strings.NewReader("v\ntomorrow\n"), "t.csv", format.CSV{}, "t1"); err != nil {
		t.Error(err)
	}
	_, err := plan.Text(t.Context(), dst, strings.NewReader("v\n\\101\n"), "t.csv", format.CSV{}, "t24")
	if err != nil {
		t.Error(err)
	} else if got := to.Query(t, "SELECT v FROM t24")[0][0]; got != `\x41` {
		t.Errorf("escapes in a column that may change values: %s", got)
	}
}

// TestIdentifiersInText has no database make numbers of identifiers in files without types.
func TestIdentifiersInText(t *testing.T) {
	for name, db := range map[string]database{
		"sqlite": randomSQLite(t), "postgres": randomPostgres(t), "mariadb": randomMariaDB(t),
	} {
		db.exec("CREATE TABLE copies (v integer)")
		for _, value := range []string{"007", "+49123"} {
			for _, convert := range []bool{false, true} {
				var err error
				rows := copiesOf(t, db, func(dst sink.Sink) error {
					plan := load.Plan{}
					if convert {
						plan.Filling.Convert = []string{"v"}
					}
					text := strings.NewReader("v\n7\n" + value + "\n")
					_, err = plan.Text(t.Context(), dst, text, "t.csv", format.CSV{}, "copies")
					return nil
				})
				row, refused := errors.AsType[*sink.RowError](err)
				switch {
				case convert && (err != nil || len(rows) != 2):
					t.Errorf("%s: %s in a column that may change it: %v, %q", name, value, err, rows)
				case !convert && (!refused || !errors.Is(err, sink.ErrChanged) || row.Row != 2 || len(rows) != 0):
					t.Errorf("%s: %s: %v, %q", name, value, err, rows)
				}
				db.exec("DELETE FROM copies")
			}
		}
	}
}

// TestRoundedByPostgres copies and loads values of PostgreSQL into columns that would round them.
func TestRoundedByPostgres(t *testing.T) {
	tests := []struct{ from, value, to, want string }{
		{"numeric", "1.005", "numeric(6,2)", ""},
		{"numeric", "1.50", "numeric(6,2)", "1.50"},
		{"numeric(9,3)", "1.250", "numeric(6,2)", "1.25"},
		{"timestamp", "2026-01-31 10:00:00.5", "timestamp(0)", ""},
		{"timestamp", "2026-01-31 10:00:00", "timestamp(0)", "2026-01-31 10:00:00"},
		{"timestamptz", "2026-01-31 10:00:00+00", "date", ""},
		{"time", "10:00:00.25", "time(1)", ""},
		{"interval", "00:00:01.5", "interval(0)", ""},
		{"interval", "1 day 10:00:00", "interval day", ""},
		{"interval", "-infinity", "text", "-infinity"},
		{"double precision", "0.1234567890123", "real", ""},
		{"double precision", "-0", "real", "-0"},
		{"text", "ab  ", "varchar(3)", ""},
		{"bytea", `\x00ff`, "bytea", `\x00ff`},
		{"boolean", "t", "boolean", "t"},
		{"money", "-$1,000.50", "money", "-$1,000.50"},
		{"date", "infinity", "timestamp", "infinity"},
	}
	var setup []string
	for i, test := range tests {
		if test.value == "-infinity" {
			test.from = "date" // not every version has such intervals
		}
		setup = append(setup, fmt.Sprintf("CREATE TABLE f%d (v %s)", i, test.from),
			fmt.Sprintf("INSERT INTO f%d VALUES (NULL), ('%s')", i, test.value),
			fmt.Sprintf("CREATE TABLE t%d (v %s)", i, test.to))
	}
	db, dst := newPostgres(t, strings.Join(setup, ";"))
	src, err := postgres.OpenSource(t.Context(), db.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	for i, test := range tests {
		from, to := fmt.Sprint("f", i), fmt.Sprint("t", i)
		backup := newBackupOf(t, src, export.Plan{}, 0, from)
		for _, copies := range []bool{true, false} {
			plan := load.Plan{Filling: sink.Filling{Existing: sink.Truncate}}
			if copies {
				_, err = plan.Copy(t.Context(), dst, src, from, to)
			} else {
				_, err = plan.Directory(t.Context(), dst, backup.Directory, map[string]string{from: to})
			}
			row, refused := errors.AsType[*sink.RowError](err)
			switch {
			case test.want == "" && (!refused || !errors.Is(err, sink.ErrChanged) || row.Row != 2 || row.Column != "v"):
				t.Errorf("%v is not refused: %v", test, err)
			case test.want != "" && err != nil:
				t.Errorf("%v: %v", test, err)
			case test.want != "":
				if got := db.Query(t, "SELECT v FROM "+to+" WHERE v IS NOT NULL")[0][0]; got != test.want {
					t.Errorf("%v became %s", test, got)
				}
			}
		}
	}
}

// TestConvertedColumnsOfCopies refuses names of columns that no table has.
func TestConvertedColumnsOfCopies(t *testing.T) {
	src := newLite(t, "CREATE TABLE a (id INT)", "CREATE TABLE b (v TEXT)")
	_, dst := newPostgres(t, "CREATE TABLE a (id int); CREATE TABLE b (v text)")
	both := []load.Names{{From: "a", To: "a"}, {From: "b", To: "b"}}
	for name, known := range map[string]bool{"ID": true, "v": true, "price": false} {
		plan := load.Plan{Filling: sink.Filling{Convert: []string{name}, Existing: sink.Truncate}}
		_, err := plan.CopyTables(t.Context(), dst, src, both)
		unknown, is := errors.AsType[*source.UnknownError](err)
		if is == known || is && (unknown.What != "column" || unknown.Name != name) {
			t.Errorf("%s in any of two tables: %v", name, err)
		}
		_, err = plan.Copy(t.Context(), dst, src, "a", "a")
		if _, is := errors.AsType[*source.UnknownError](err); is == (name == "ID") {
			t.Errorf("%s in one table: %v", name, err)
		}
		_, err = plan.PreviewCopy(t.Context(), dst, src, "a", "a")
		if _, is := errors.AsType[*source.UnknownError](err); is == (name == "ID") {
			t.Errorf("%s in the preview of one table: %v", name, err)
		}
	}
}
