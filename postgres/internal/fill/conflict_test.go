package fill_test

import (
	"slices"
	"testing"

	"culvert/internal/rowsum"
	"culvert/sink"
)

// TestConflictTriggers fills a table by key whose triggers change what is written. What is read back before the commit
// is the table, and not what arrived.
func TestConflictTriggers(t *testing.T) {
	db, database := openNew(t, "")
	sent := []string{"1,new\n", "2,old\n", "3,new\n"}
	ignored := []string{"1,old\n", "2,old\n", "3,new\n"}
	for _, test := range []struct {
		name, body, options string
		update, ignore      bool     // whether the rows that are read back are those that were sent
		updated             []string // the table afterwards; nil if that is the rows that were sent
	}{
		{
			"changes", "NEW.a = upper(NEW.a); RETURN NEW;", "BEFORE INSERT", false, false,
			[]string{"1,NEW\n", "2,OLD\n", "3,NEW\n"},
		},
		{
			"changes an update", "NEW.a = upper(NEW.a); RETURN NEW;", "BEFORE UPDATE", false, true,
			[]string{"1,NEW\n", "2,OLD\n", "3,new\n"},
		},
		{"keeps the old row", "RETURN OLD;", "BEFORE UPDATE", false, true, ignored},
		{
			"moves the key", "NEW.id = NEW.id + 10; RETURN NEW;", "BEFORE INSERT", false, false,
			[]string{"1,old\n", "11,new\n", "12,old\n", "13,new\n", "2,old\n"},
		},
		{
			"changes later", "UPDATE triggered SET a = 'x' WHERE id = 3; RETURN NULL;", "AFTER INSERT", false, false,
			[]string{"1,new\n", "2,old\n", "3,x\n"},
		},
		{
			"deletes later", "DELETE FROM triggered WHERE id = 3; RETURN NULL;", "AFTER INSERT", false, false,
			[]string{"1,new\n", "2,old\n"},
		},
		{
			"leaves equal rows out", "IF NEW IS NOT DISTINCT FROM OLD THEN RETURN NULL; END IF; RETURN NEW;",
			"BEFORE UPDATE", true, true, nil,
		},
	} {
		database.Exec(t, `DROP TABLE IF EXISTS triggered;
			CREATE TABLE triggered (id int PRIMARY KEY, a text);
			CREATE OR REPLACE FUNCTION triggers() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN `+test.body+` END$$;
			INSERT INTO triggered VALUES (1, 'old'), (2, 'old');
			CREATE TRIGGER triggers `+test.options+` ON triggered FOR EACH ROW EXECUTE FUNCTION triggers()`)
		for _, conflict := range []sink.Conflict{sink.Ignore, sink.Update} {
			filling := sink.Filling{Existing: sink.Append, Conflict: conflict}
			want := test.ignore
			if conflict == sink.Update {
				filling.Key, want = []string{"id"}, test.update
			}
			filled := beginTable(t, db, "triggered", filling)
			if same := equalSum(t, filled, sent); same != want {
				t.Errorf("%s, policy %d: the rows that are read back are those sent: %v", test.name, conflict, same)
			}
			if conflict == sink.Update {
				if err := filled.Commit(); err != nil {
					t.Errorf("%s: %v", test.name, err)
				}
			}
			if err := filled.Discard(); err != nil {
				t.Error(err)
			}
		}
		if test.updated == nil {
			test.updated = sent
		}
		var got []string
		for _, row := range database.Query(t, "SELECT id || ',' || a || E'\\n' FROM triggered ORDER BY id::text") {
			got = append(got, row[0])
		}
		if !slices.Equal(got, test.updated) {
			t.Errorf("%s: the table has %q, want %q", test.name, got, test.updated)
		}
	}
}

// equalSum loads lines of CSV, and reports whether the same lines are read back.
func equalSum(t *testing.T, filled sink.Table, lines []string) bool {
	t.Helper()
	loader := filled.Loaders()[0]
	var want rowsum.Adder
	for _, line := range lines {
		want.Line([]byte(line))
		if err := loadText(loader, line); err != nil {
			t.Fatal(err)
		}
	}
	rows, sum, err := loader.Sum()
	if err == nil {
		_, err = loader.Close()
	}
	if err != nil {
		t.Log("Sum:", err)
		return false
	}
	return rows == int64(len(lines)) && sum == want.Sum
}

// TestConflictRule has a rule do something else instead of INSERT, which the server refuses beside ON CONFLICT.
func TestConflictRule(t *testing.T) {
	db, database := openNew(t, `CREATE TABLE ruled (id int PRIMARY KEY) PARTITION BY RANGE (id);
		CREATE TABLE ruled_low PARTITION OF ruled FOR VALUES FROM (0) TO (10);
		CREATE TABLE ruled_high PARTITION OF ruled FOR VALUES FROM (10) TO (20);
		INSERT INTO ruled VALUES (1), (11)`)
	filling := sink.Filling{Existing: sink.Append, Conflict: sink.Ignore}
	table := beginTable(t, db, "ruled", filling)
	if !equalSum(t, table, []string{"1\n", "2\n", "12\n"}) {
		t.Error("the rows of a partitioned table are read back as others")
	}
	if err := table.Commit(); err != nil {
		t.Error(err)
	}
	expectCount(t, database, "ruled", "4")
	database.Exec(t, "CREATE RULE nothing AS ON INSERT TO ruled DO INSTEAD NOTHING")
	if _, err := db.Table(t.Context(), "ruled", filling); err == nil {
		t.Error("a table whose rule leaves all rows out is filled")
	}
}

// TestConflictWithoutColumns adds rows to tables whose columns take no values, or that have none.
func TestConflictWithoutColumns(t *testing.T) {
	for _, columns := range []string{"", "a int GENERATED ALWAYS AS (1) STORED"} {
		db, database := openNew(t, "CREATE TABLE t ("+columns+")")
		table := beginTable(t, db, "t", sink.Filling{Existing: sink.Append, Conflict: sink.Ignore})
		loader := table.Loaders()[0]
		err := loadText(loader, "\n\n")
		if err == nil {
			_, _, err = loader.Sum()
		}
		if err == nil {
			_, err = loader.Close()
		}
		if err == nil {
			err = table.Commit()
		}
		if err != nil {
			t.Fatalf("%q: %v", columns, err)
		}
		expectCount(t, database, "t", "2")
	}
}
