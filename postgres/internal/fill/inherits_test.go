package fill_test

import (
	"testing"

	"culvert/sink"
)

// TestTruncateInherited truncates a table from which another one inherits, which keeps its rows, and a table with
// partitions, which do not.
func TestTruncateInherited(t *testing.T) {
	db, database := openNew(t, `
CREATE TABLE parent (a int); CREATE TABLE child (b int) INHERITS (parent); INSERT INTO child VALUES (2, 3);
CREATE TABLE whole (a int) PARTITION BY LIST (a); CREATE TABLE part PARTITION OF whole DEFAULT`)
	for name, rows := range map[string]string{"parent": "ONLY parent", "whole": "whole"} {
		for _, filling := range []sink.Filling{
			{Existing: sink.Truncate},
			{Existing: sink.Truncate, EachPart: true, Ledger: &sink.Ledger{Table: "ledger", Load: "one"}},
		} {
			database.Exec(t, "INSERT INTO "+name+" VALUES (1)")
			table := beginTable(t, db, name, filling)
			loader := table.Loaders()[0]
			err := loadText(loader, "7\n")
			if err == nil {
				err = loader.EndPart(sink.Part{Name: "a", Rows: 1})
			}
			if err == nil {
				_, err = loader.Close()
			}
			if err == nil {
				err = table.Commit()
			}
			if err != nil {
				t.Fatal(err)
			}
			if filling.EachPart { // the rows of other tables are not counted
				again := beginTable(t, db, name, filling)
				if len(again.Loaded()) != 1 {
					t.Errorf("%s: loaded are %v", name, again.Loaded())
				}
				if err := again.Discard(); err != nil {
					t.Fatal(err)
				}
			}
			expectCount(t, database, rows, "1")
			expectCount(t, database, rows+" WHERE a = 7", "1")
			expectCount(t, database, "child", "1")
		}
	}
}
