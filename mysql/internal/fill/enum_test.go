package fill_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
)

// TestErrorValue loads the error value of an ENUM, which is the empty text, beside values that are refused.
func TestErrorValue(t *testing.T) {
	const many = 300 // more than the warnings that the server keeps
	rows := []string{"1 x "}
	for i := range many {
		rows = append(rows, fmt.Sprintf("%d  y", i+2))
	}
	bothWays(t, func(t *testing.T, database *testkit.MariaDBDatabase) {
		database.Exec(t, "CREATE TABLE t (a int PRIMARY KEY, b enum('x','it''s '',''') NOT NULL, c enum('y'),"+
			" d enum('z','') DEFAULT '')")
		db := open(t, database)
		f := sink.Filling{Columns: []string{"a", "b", "c"}}
		for _, refused := range []string{"1000 z y", "1000 - y", "x x y", "1000  z"} {
			err := fillRows(t, db, f, append(slices.Clone(rows), refused)...)
			if row, ok := errors.AsType[*sink.RowError](err); !ok || row.Row != many+2 && testkit.MySQL() == "" {
				t.Errorf("%q in row %d: %v", refused, many+2, err)
			}
			expect(t, database, "SELECT COUNT(*) FROM t", "0")
		}
		if err := fillRows(t, db, f, rows...); err != nil {
			t.Fatal(err)
		}
		expect(t, database, "SELECT b + 0, c + 0, d + 0, COUNT(*) FROM t GROUP BY 1, 2, 3 ORDER BY 4",
			"1 0 2 1", "0 1 2 300")

		f.Existing, f.Conflict, f.Key = sink.Append, sink.Update, []string{"a"}
		if err := fillRows(t, db, f, "1  ", "2 x y"); err != nil {
			t.Fatal(err)
		}
		expect(t, database, "SELECT b + 0, c + 0 FROM t WHERE a < 3 ORDER BY a", "0 0", "1 1")
		f = sink.Filling{Columns: []string{"a", "d"}, Existing: sink.Append}
		if err := fillRows(t, db, f, "1000 "); err != nil {
			t.Fatal(err)
		}
		expect(t, database, "SELECT d + 0 FROM t WHERE a = 1000", "2")
	})
}
