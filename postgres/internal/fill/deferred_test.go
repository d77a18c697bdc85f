package fill_test

import (
	"fmt"
	"testing"

	"culvert/internal/rowsum"
	"culvert/sink"
)

// TestDeferredTriggers has triggers that are deferred change rows: the sum is that of the rows as they will be.
func TestDeferredTriggers(t *testing.T) {
	var sent rowsum.Adder
	sent.Line([]byte("1\n"))
	sent.Line([]byte("2\n"))
	for change, want := range map[string]int64{"DELETE FROM t": 0, "UPDATE t SET a = 7 WHERE a = 2": 2} {
		db, database := openNew(t, fmt.Sprintf(`
CREATE TABLE t (a int);
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f()`,
			change))
		parts := sink.Filling{EachPart: true, Ledger: &sink.Ledger{Table: "ledger", Load: "one"}}
		for _, filling := range []sink.Filling{{}, {Existing: sink.Truncate}, {Loaders: 2}, parts} {
			database.Exec(t, "DELETE FROM t")
			table := beginTable(t, db, "t", filling)
			loader := table.Loaders()[0]
			if err := loadText(loader, "1\n2\n"); err != nil {
				t.Fatal(err)
			}
			rows, sum, err := loader.Sum()
			if err != nil || rows != want || sum == sent.Sum {
				t.Errorf("%s: %+v: the sum is that of %d rows, want other %d: %v", change, filling, rows, want, err)
			}
			if err := table.Discard(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDeferredUntilSum has a row refer to one that is added later.
func TestDeferredUntilSum(t *testing.T) {
	db, database := openNew(t, `CREATE TABLE t (a int PRIMARY KEY, of int REFERENCES t DEFERRABLE INITIALLY DEFERRED)`)
	table := beginTable(t, db, "t", sink.Filling{})
	loader := table.Loaders()[0]
	for _, text := range []string{"1,2\n", "2,1\n"} {
		if err := loadText(loader, text); err != nil {
			t.Fatal(err)
		}
		if _, err := loader.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	rows, _, err := loader.Sum()
	if err == nil {
		_, err = loader.Close()
	}
	if err == nil {
		err = table.Commit()
	}
	if err != nil || rows != 2 {
		t.Errorf("%d rows: %v", rows, err)
	}
	expectCount(t, database, "t", "2")
}
