package load_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/sink"
)

// TestEndOfData loads rows that are \. alone, which PostgreSQL before 18 takes for the end of CSV: from files of
// others, from exports, and from every database into every other.
func TestEndOfData(t *testing.T) {
	dbs := map[string]database{"sqlite": randomSQLite(t), "postgres": randomPostgres(t), "mariadb": randomMariaDB(t)}
	want := []string{"x\n", "\"\\.\"\n", "\"\"\n", "\"\\.\"\n", "\"a\n\\.\nb\"\n", "\\.c\n"}
	slices.Sort(want)
	for name, db := range dbs {
		values := `('x'), ('\.'), (''), ('\.'), ('a` + "\n" + `\.` + "\n" + `b'), ('\.c')`
		if name == "mariadb" {
			values = strings.ReplaceAll(values, `\`, `\\`)
		}
		db.exec("CREATE TABLE texts (v text)")
		db.exec("CREATE TABLE copies (v text)")
		db.exec("INSERT INTO texts VALUES " + values)
	}
	expect := func(t *testing.T, to database, want []string, fill func(sink.Sink) error) {
		t.Helper()
		to.exec("DELETE FROM copies")
		if got := copiesOf(t, to, fill); !slices.Equal(got, want) {
			t.Errorf("the rows are %q instead of %q", got, want)
		}
	}
	for name, to := range dbs {
		for what, text := range map[string]string{
			"LF":     "v\nx\n\\.\n\"\"\n\\.\n\"a\n\\.\nb\"\n\\.c\n",
			"CRLF":   "v\r\nx\r\n\\.\r\n\"\"\r\n\"\\.\"\r\n\"a\n\\.\nb\"\r\n\\.c\r\n",
			"no end": "v\n\\.",
		} {
			t.Run(what+" into "+name, func(t *testing.T) {
				want := want
				if what == "no end" {
					want = []string{"\"\\.\"\n"}
				}
				expect(t, to, want, func(dst sink.Sink) error {
					plan := load.Plan{}
					_, err := plan.Text(t.Context(), dst, strings.NewReader(text), "t.csv", format.CSV{}, "copies")
					return err
				})
			})
		}
		for from, db := range dbs {
			t.Run(from+" into "+name, func(t *testing.T) {
				src, err := db.source()
				if err != nil {
					t.Fatal(err)
				}
				rows := newBackupOf(t, src, export.Plan{Jobs: 1}, 0, "texts")
				objects := newBackupOf(t, src, export.Plan{Format: format.JSONL{}}, 0, "texts")
				closing(t, src) // SQLite is locked while it is read
				for _, backup := range []*backup{rows, objects} {
					expect(t, to, want, func(dst sink.Sink) error {
						plan := load.Plan{}
						names := map[string]string{"texts": "copies"}
						_, err := plan.Directory(t.Context(), dst, backup.Directory, names)
						return err
					})
				}
				if from == name && name == "sqlite" {
					return
				}
				expect(t, to, want, func(dst sink.Sink) error {
					src, err := db.source()
					if err != nil {
						return err
					}
					plan := load.Plan{}
					_, err = plan.Copy(t.Context(), dst, src, "texts", "copies")
					return errors.Join(err, src.Close())
				})
			})
		}
	}
}

// TestEndOfDataAmongColumns names the row that has too few values.
func TestEndOfDataAmongColumns(t *testing.T) {
	_, dst := newPostgres(t, "CREATE TABLE pairs (a text, b text)")
	plan := load.Plan{}
	_, err := plan.Text(t.Context(), dst, strings.NewReader("a,b\nx,y\n\\.\nz,w\n"), "t.csv", format.CSV{}, "pairs")
	if row, is := errors.AsType[*format.RowError](err); !is || row.Row != 2 {
		t.Errorf("the error is %v", err)
	}
}
