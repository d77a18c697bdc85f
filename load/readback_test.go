package load_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// fitted are values that are written in another form as they are loaded: SQL of the source, and the types there and in
// the table.
var fitted = []struct {
	from, to string
	values   [][3]string
}{
	{"sqlite", "postgres", [][3]string{
		{"text", "'abc'", "bytea"},
		{"real", "9e999", "double precision"},
		{"real", "-9e999", "real"},
		{"timestamp", "'0000-00-00 00:00:00'", "timestamp"},
	}},
	{"sqlite", "mariadb", [][3]string{
		{"text", "'abc'", "blob"},
		{"boolean", "1", "boolean"},
		{"blob", "x'00ff'", "blob"},
	}},
	{"mariadb", "postgres", [][3]string{
		{"date", "'0000-00-00'", "date"},
		{"datetime", "'0000-00-00 00:00:00'", "timestamp"},
		{"text", "'abc'", "bytea"},
	}},
	{"mariadb", "sqlite", [][3]string{{"date", "'0000-00-00'", "date"}, {"boolean", "1", "boolean"}}},
	{"postgres", "mariadb", [][3]string{
		{"boolean", "true", "boolean"},
		{"boolean", "false", "bit(1)"},
		{"text", "'abc'", "blob"},
		{"bytea", "'abc'", "blob"},
		{"timestamptz", "'2026-01-02 03:04:05+00'", "datetime"},
	}},
	{"postgres", "sqlite", [][3]string{{"bytea", "'abc'", "blob"}, {"double precision", "'NaN'", "real"}}},
	{"postgres", "postgres", [][3]string{{"text", "'abc'", "bytea"}, {"boolean", "true", "text"}}},
}

// TestReadBackFitted reads back what was written in another form than it had in its source: the sum that is compared is
// that of what was written.
func TestReadBackFitted(t *testing.T) {
	t.Parallel()
	databases := map[string]func(t *testing.T) database{
		"sqlite": randomSQLite, "postgres": randomPostgres, "mariadb": randomMariaDB,
	}
	for _, test := range fitted {
		t.Run(test.from+" "+test.to, func(t *testing.T) {
			from, to := databases[test.from](t), databases[test.to](t)
			for i, v := range test.values {
				table, zeros := fmt.Sprint("t", i), ""
				if test.from == "mariadb" {
					zeros = "SET sql_mode = ''; "
				}
				from.exec("CREATE TABLE " + table + " (id int, v " + v[0] + ")")
				from.exec(zeros + "INSERT INTO " + table + " VALUES (1, " + v[1] + "), (2, NULL)")
				src, err := from.source()
				if err != nil {
					t.Fatal(err)
				}
				for name, fill := range waysOf(t, src, table, "v") {
					to.exec("DROP TABLE IF EXISTS copies")
					to.exec("CREATE TABLE copies (id int, v " + v[2] + ")")
					dst, err := to.sink()
					if err != nil {
						t.Fatal(err)
					}
					if err := fill(dst); err != nil {
						t.Errorf("%s of %q: %v", name, v, err)
					}
					closing(t, dst)
				}
				closing(t, src)
			}
		})
	}
}

// waysOf are the ways to load a table into the table copies, which read it back. The columns of convert may change.
func waysOf(t *testing.T, src source.Source, table string, convert ...string) map[string]func(sink.Sink) error {
	plan := load.Plan{ReadBack: true, Filling: sink.Filling{Convert: convert}}
	directory := func(f format.Format) func(sink.Sink) error {
		backup := newBackupOf(t, src, export.Plan{Format: f}, 0, table)
		return func(dst sink.Sink) error {
			_, err := plan.Directory(t.Context(), dst, backup.Directory, map[string]string{table: "copies"})
			return err
		}
	}
	return map[string]func(sink.Sink) error{
		"a load of CSV": directory(nil), "a load of JSON Lines": directory(format.JSONL{}),
		"a copy": func(dst sink.Sink) error {
			_, err := plan.Copy(t.Context(), dst, src, table, "copies")
			return err
		},
	}
}

// TestReadBackForeign has CSV with quotes and line ends that no database prints.
func TestReadBackForeign(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) database{
		"sqlite": randomSQLite, "postgres": randomPostgres, "mariadb": randomMariaDB,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := open(t)
			to.exec("CREATE TABLE copies (id int, v text)")
			dst, err := to.sink()
			if err != nil {
				t.Fatal(err)
			}
			defer closing(t, dst)
			plan := load.Plan{ReadBack: true}
			text := "\"id\",v\r\n\"1\",\"a\"\r\n2,\r\n3,\"\"\r\n"
			stats, err := plan.Text(t.Context(), dst, strings.NewReader(text), "a.csv", format.CSV{}, "copies")
			if err != nil || stats.Rows != 3 {
				t.Errorf("%d rows: %v", stats.Rows, err)
			}
		})
	}
}

// TestCompareRetyped compares rows with a table whose column prints the same values in another text, as they are
// loaded and later.
func TestCompareRetyped(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		open     func(t *testing.T) database
		from, to string
	}{
		"sqlite":   {randomSQLite, "real", "integer"},
		"postgres": {randomPostgres, "numeric(10,2)", "numeric(10,4)"},
		"mariadb":  {randomMariaDB, "decimal(10,2)", "double"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := test.open(t)
			db.exec("CREATE TABLE t (id int, v " + test.from + ")")
			db.exec("INSERT INTO t VALUES (1, 3), (2, NULL)")
			db.exec("CREATE TABLE copies (id int, v " + test.to + ")")
			src, err := db.source()
			if err != nil {
				t.Fatal(err)
			}
			backup := newBackupOf(t, src, export.Plan{}, 0, "t")
			closing(t, src)
			names := map[string]string{"t": "copies"}
			copiesOf(t, db, func(dst sink.Sink) error {
				_, err := (&load.Plan{ReadBack: true}).Directory(t.Context(), dst, backup.Directory, names)
				return err
			})
			for _, differs := range []bool{false, true} {
				if differs {
					db.exec("UPDATE copies SET v = 4 WHERE id = 1")
				}
				again, err := db.source()
				if err != nil {
					t.Fatal(err)
				}
				err = backup.Compare(t.Context(), again, 1, nil, names, nil)
				closing(t, again)
				if errors.Is(err, export.ErrDiffers) != differs || !differs && err != nil {
					t.Errorf("another value, %v: %v", differs, err)
				}
			}
		})
	}
}
