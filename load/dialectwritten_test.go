package load_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

// writtenFor are the settings with which a program reads a file into the table t by itself, and what NULL becomes.
var writtenFor = map[string]struct {
	settings, null string
	read           func(t *testing.T, file string) source.Source
}{
	"MariaDB": {"for=mysql", "NULL", func(t *testing.T, file string) source.Source {
		db := testkit.MariaDB(t).NewDatabase(t)
		for _, sql := range []string{
			"CREATE TABLE t (a varchar(50), b varchar(50)) CHARACTER SET utf8mb4",
			"LOAD DATA INFILE '" + file + "' INTO TABLE t CHARACTER SET utf8mb4",
		} {
			if err := db.Try(sql); err != nil {
				t.Fatal(err)
			}
		}
		return openMySQL(t, db)
	}},
	"sqlite3": {"header=no", "", func(t *testing.T, file string) source.Source {
		program, err := exec.LookPath("sqlite3")
		if err != nil {
			testkit.Missing(t, "sqlite3", "https://sqlite.org/cli.html")
		}
		path, _ := newSQLite(t)
		execSQLite(t, path, "CREATE TABLE t (a TEXT, b TEXT)")
		said, err := exec.CommandContext(t.Context(), program, path, ".import --csv '"+file+"' t").CombinedOutput()
		if err != nil || len(said) > 0 {
			t.Fatalf("%v: %s", err, said)
		}
		return openSQLite(t, path)
	}},
	"psql": {"postgres", "NULL", func(t *testing.T, file string) source.Source {
		return readByPsql(t, file, "")
	}},
	// Redshift has taken its words from PostgreSQL.
	"psql, as Redshift": {"for=redshift", "NULL", func(t *testing.T, file string) source.Source {
		return readByPsql(t, file, `csv null '\N'`)
	}},
}

func readByPsql(t *testing.T, file, options string) source.Source {
	t.Helper()
	db, _ := newPostgres(t, "CREATE TABLE t (a text, b text)")
	copies := `\copy t from '` + file + "' " + options
	if said, err := db.PsqlCommand(t, "-c", copies).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return openPostgres(t, db)
}

// TestDialectWritten has databases read by themselves what is written for them: MariaDB by LOAD DATA, the program
// sqlite3 by .import, and PostgreSQL by \copy, also what Redshift takes. sqlite3 has no NULL in such a file.
func TestDialectWritten(t *testing.T) {
	values := [][]string{ // "NULL" is NULL
		{"a;b,c", "1"},
		{"", "NULL"},
		{`C:\new "x"`, ""},
		{"two\nlines\ttab", `\N`},
		{"é\r\n", " x "},
		{"'", `\`},
		{"NULL", "null"},
		{`\.`, "\x1a"},
	}
	for name, test := range writtenFor {
		t.Run(name, func(t *testing.T) {
			d, _, err := format.ParseDialect(test.settings)
			if err != nil {
				t.Fatal(err)
			}
			encoder, err := d.Encoder([]source.Column{{Name: "a"}, {Name: "b"}})
			if err != nil {
				t.Fatal(err)
			}
			csv, err := format.CSV{}.Encoder([]source.Column{{Name: "a"}, {Name: "b"}})
			if err != nil {
				t.Fatal(err)
			}
			text, err := encoder.AppendRows(encoder.AppendHeader(nil), batchOf(values, "NULL"))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "written.csv")
			if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // a server reads it
				t.Fatal(err)
			}
			top := os.TempDir()
			for at := filepath.Dir(file); at != filepath.Dir(top) && at != top; at = filepath.Dir(at) {
				if err := os.Chmod(at, 0o755); err != nil { //nolint:gosec // the same
					t.Fatal(err)
				}
			}
			want, err := csv.AppendRows(nil, batchOf(values, test.null))
			if err != nil {
				t.Fatal(err)
			}
			got := csvOf(t, test.read(t, file), "t")
			if rows := slices.Sorted(slices.Values(rowsOf(want))); !slices.Equal(got, rows) {
				t.Errorf("%s became %q instead of %q", strings.ReplaceAll(string(text), "\n", "\\n"), got, rows)
			}
		})
	}
}

// batchOf returns rows in which NULL stands for NULL, or for another text.
func batchOf(rows [][]string, null string) *source.Batch {
	b := new(source.Batch)
	b.Reset(2)
	for _, row := range rows {
		for _, value := range row {
			switch {
			case value == "NULL" && null == "NULL":
				b.AppendNull()
			case value == "NULL":
				b.Append(source.Text, []byte(null))
			default:
				b.Append(source.Text, []byte(value))
			}
		}
		b.EndRow()
	}
	return b
}
