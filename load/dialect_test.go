package load_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/load"
	"culvert/sink"
)

// TestDialects loads the same rows in the words of several programs into every database.
func TestDialects(t *testing.T) {
	semicolons := format.Dialect{Delimiter: ";", Null: "NULL"}
	for name, open := range map[string]func(*testing.T) database{
		"postgres": randomPostgres, "mariadb": randomMariaDB, "sqlite": randomSQLite,
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			db.exec("CREATE TABLE copies (id int PRIMARY KEY, t text, n int)")
			for _, test := range []struct {
				dialect format.Dialect
				text    string
			}{
				{semicolons, "n;id;t\r\n7;1;\"a;\r\n\"\"b\"\"\"\r\nNULL;2;NULL\r\n-1;3;\r\n"},
				{format.PostgreSQLText, "1\ta;\\r\\n\"b\"\t7\n2\t\\N\t\\N\n3\t\t-1\n"},
				{format.MySQLText, "1\ta;\r\\\n\"b\"\t7\n2\t\\N\t\\N\n3\t\t-1\n"},
			} {
				got := copiesOf(t, db, func(dst sink.Sink) error {
					text := strings.NewReader(test.text)
					stats, err := (&load.Plan{}).Text(t.Context(), dst, text, "x", test.dialect, "copies")
					if err == nil && stats.Rows != 3 {
						t.Errorf("%d rows are loaded", stats.Rows)
					}
					return err
				})
				want := []string{"1,\"a;\r\n\"\"b\"\"\",7\n", "2,,\n", "3,\"\",-1\n"}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("%q became %q", test.text, got)
				}
				db.exec("DELETE FROM copies")
			}

			dst, err := db.sink()
			if err != nil {
				t.Fatal(err)
			}
			defer closing(t, dst)
			text := strings.NewReader("\n\nid;t;n\n1;\"two\";1\n1;NULL;1\n")
			_, err = (&load.Plan{}).Text(t.Context(), dst, text, "x.csv", semicolons, "copies")
			if row, is := errors.AsType[*sink.RowError](err); !is || row.Line != 0 || row.Row != 2 && row.Row != 0 {
				t.Errorf("a key that exists is %v", err)
			}
			text = strings.NewReader("id;t;n\n1;\"two\nlines\";1\n2;;;\n")
			_, err = (&load.Plan{}).Text(t.Context(), dst, text, "x.csv", semicolons, "copies")
			if row, is := errors.AsType[*format.RowError](err); !is || row.Row != 2 || row.Line != 4 {
				t.Errorf("a row with more values is %v", err)
			}
		})
	}
}
