package load_test

import (
	"errors"
	"strings"
	"testing"

	"culvert/load"
	"culvert/sink"
)

// TestBrokenView has a view of MariaDB on a table that is not there any more: the rows stay, the view is named, and
// what does not need it is made. When the table is there, the same load makes it. SQLite makes such a view.
func TestBrokenView(t *testing.T) {
	const sql = "CREATE TABLE kept (id int); INSERT INTO kept VALUES (1), (2); CREATE TABLE gone (id int); " +
		"CREATE VIEW a AS SELECT id FROM gone; CREATE VIEW b AS SELECT id FROM a; " +
		"CREATE VIEW seen AS SELECT id FROM kept; DROP TABLE gone"
	for name, open := range map[string]func(*testing.T, string) system{
		"SQLite": sqliteSystem, "MariaDB": mariaDBSystem,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, sql)
			defer closing(t, s.src)
			defer closing(t, s.dst)
			from := exported(t, s.src, true)
			_, err := new(load.Plan).Database(t.Context(), s.dst, from, "a load")
			if name == "SQLite" {
				if err != nil {
					t.Error(err)
				}
				was, is := s.dumps()
				expectLines(t, name, was, is)
				return
			}
			failed, is := errors.AsType[*sink.StatementsError](err)
			if !is || failed.Before || len(failed.Failed) != 2 || !strings.Contains(failed.Failed[0].SQL, "VIEW `a`") ||
				!strings.Contains(failed.Failed[0].Error(), "gone") {
				t.Fatal(err)
			}
			if got := s.rows("SELECT sum(id) FROM seen"); got != "3" {
				t.Errorf("the rows are %s", got)
			}
			s.exec("CREATE TABLE gone (id int)")
			if _, err := new(load.Plan).Database(t.Context(), s.dst, from, "a load"); err != nil {
				t.Fatal(err)
			}
			if got := s.rows("SELECT count(*) FROM b"); got != "0" {
				t.Errorf("the view has %s rows", got)
			}
		})
	}
}
