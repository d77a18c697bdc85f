package workers_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"culvert/internal/testkit"
)

// grown is below the ids of all rows that are added, and above those of the fixture.
const grown = 1_000_000

// growing adds rows to the tables of a fixture. Each transaction adds one to orders and one to customers, with the same
// id, which is higher than all before. So in one snapshot, both tables have the same highest id, and a table has all
// rows up to its own.
type growing struct {
	psql io.Writer
	ids  map[string]int // the highest id of each table that was compared
}

// grow lets the tables grow whenever add is called, until the test ends.
func (f *fixture) grow(t *testing.T) {
	t.Helper()
	f.db.Exec(t, fmt.Sprintf("CREATE SEQUENCE added START %d", grown+1))
	cmd := f.db.PsqlCommand(t)
	stdin, _ := testkit.StartPiped(t, cmd)
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Error("psql:", err)
		}
	})
	f.growing = &growing{stdin, map[string]int{}}
}

// add adds a row to both tables, soon.
func (g *growing) add(t *testing.T) {
	t.Helper()
	_, err := io.WriteString(g.psql, `WITH o AS (INSERT INTO orders VALUES (nextval('added'), 'added') RETURNING *)
		INSERT INTO customers SELECT * FROM o;
	`)
	if err != nil {
		t.Error(err)
	}
}

// highest returns the highest id in the text of a table, or one below all that were added.
func (g *growing) highest(t *testing.T, table, text string) int {
	t.Helper()
	highest := grown
	for line := range strings.Lines(text[strings.IndexByte(text, '\n')+1:]) {
		var id int
		if _, err := fmt.Sscanf(line, "%d,", &id); err != nil {
			t.Fatal(err)
		}
		highest = max(highest, id)
	}
	g.ids[table] = highest
	return highest
}

// checkGrown checks the export of tables that have grown, and that they are of one snapshot if the manifest says so.
func (f *fixture) checkGrown(t *testing.T) {
	t.Helper()
	m := f.check(t)
	orders, customers := f.growing.ids["orders"], f.growing.ids["customers"]
	t.Logf("consistent: %v, up to %d and %d", m.Consistent, orders, customers)
	if m.Consistent && orders != customers {
		t.Errorf("the manifest says that the tables are of one snapshot, but orders has rows up to %d, customers to %d",
			orders, customers)
	}
}
