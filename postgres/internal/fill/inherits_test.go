package fill_test

import (
	"slices"
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

// TestPlanHeirs plans a table with heirs whose rows the user cannot look for: one with row security, and temporary ones
// of another session, which nobody else reads with their parent.
func TestPlanHeirs(t *testing.T) {
	_, database := openNew(t, `CREATE TABLE parent (a int); CREATE TABLE child () INHERITS (parent);
CREATE TABLE secret () INHERITS (parent); ALTER TABLE secret ENABLE ROW LEVEL SECURITY`)
	role := database.NewRole(t, "loader", "")
	database.Exec(t, "GRANT ALL ON parent, child, secret TO "+role)
	session(t, database, "CREATE TEMP TABLE mine () INHERITS (parent); INSERT INTO mine VALUES (1)")
	db := openAgain(t, database.ConnStringAs(role))
	plan, err := db.Plan(t.Context(), "parent", sink.Filling{Existing: sink.Truncate})
	want := []sink.Heir{{Table: `"public"."child"`}, {Table: `"public"."secret"`, Filled: true}}
	if err != nil || !slices.Equal(plan.Heirs, want) {
		t.Errorf("the heirs are %v, %v, want %v", plan.Heirs, err, want)
	}
}
