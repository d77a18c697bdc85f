package fill_test

import (
	"errors"
	"slices"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
)

// TestHypertable fills a table whose rows TimescaleDB keeps in tables that inherit from it.
func TestHypertable(t *testing.T) {
	database := testkit.Timescale(t).NewDatabase(t)
	database.Exec(t, `CREATE EXTENSION timescaledb; CREATE TABLE t (n int NOT NULL);
		SELECT create_hypertable('t', 'n', chunk_time_interval => 1)`)
	db := openAgain(t, database.ConnString())
	for i, existing := range []sink.Existing{sink.Refuse, sink.Append, sink.Truncate} {
		table := beginTable(t, db, []string{"t", "public.t", `"t"`}[i], sink.Filling{Existing: existing, Loaders: 3})
		if n := len(table.Loaders()); n != 1 || table.(sink.Limited).Alone() == "" {
			t.Errorf("%d loaders: %q", n, table.(sink.Limited).Alone())
		}
		if err := loadText(table.Loaders()[0], "1\n2\n3\n"); err != nil {
			t.Fatal(err)
		}
		endPart(t, table.Loaders()[0], sink.Part{Rows: 3})
		if err := table.Commit(); err != nil {
			t.Fatal(err)
		}
		expectCount(t, database, "t", []string{"3", "6", "3"}[i])
	}
	if _, err := db.Table(t.Context(), "t", sink.Filling{Existing: sink.Swap}); !errors.Is(err, sink.ErrSwap) {
		t.Errorf("swapped: %v", err)
	}
	off := sink.Filling{Existing: sink.Append, TriggersOff: true}
	if err := beginTable(t, db, "t", off).Discard(); err != nil {
		t.Error(err)
	}
	database.Exec(t, `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE TRIGGER none BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()`)
	if table, err := db.Table(t.Context(), "t", off); err == nil {
		t.Errorf("no trigger fires in %v", table)
	}
}

// TestHypertableHidden fills a table in a database with a hypertable whose schema the user may not look into.
func TestHypertableHidden(t *testing.T) {
	database := testkit.Timescale(t).NewDatabase(t)
	user := database.NewRole(t, "user", "")
	database.Exec(t, `CREATE EXTENSION timescaledb; CREATE SCHEMA hidden; CREATE TABLE hidden.h (n int NOT NULL);
		SELECT create_hypertable('hidden.h', 'n', chunk_time_interval => 1);
		CREATE TABLE t (n int); GRANT ALL ON t TO `+user)
	table := beginTable(t, openAgain(t, database.ConnStringAs(user)), "t", sink.Filling{})
	if err := loadText(table.Loaders()[0], "1\n"); err != nil {
		t.Fatal(err)
	}
	endPart(t, table.Loaders()[0], sink.Part{Rows: 1})
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	expectCount(t, database, "t", "1")
}

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

// TestTriggersOffPartitions fills a table whose partitions have triggers, each of its own kind, without any of them.
// Afterwards they are as they were.
func TestTriggersOffPartitions(t *testing.T) {
	db, database := openNew(t, `
CREATE TABLE whole (a int) PARTITION BY LIST (a);
CREATE TABLE part PARTITION OF whole DEFAULT; CREATE TABLE "Other part" PARTITION OF whole FOR VALUES IN (7);
CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'fired'; END $$;
CREATE TRIGGER of_all AFTER INSERT ON whole FOR EACH ROW EXECUTE FUNCTION no();
CREATE CONSTRAINT TRIGGER of_rule AFTER INSERT ON whole DEFERRABLE FOR EACH ROW EXECUTE FUNCTION no();
CREATE TRIGGER of_one BEFORE INSERT ON part FOR EACH ROW EXECUTE FUNCTION no();
CREATE TRIGGER "of always" BEFORE INSERT ON "Other part" FOR EACH ROW EXECUTE FUNCTION no();
ALTER TABLE "Other part" ENABLE ALWAYS TRIGGER "of always", DISABLE TRIGGER of_all`)
	const states = `(SELECT string_agg(concat_ws(' ', tgrelid::regclass, tgname, tgenabled), ', '
		ORDER BY tgrelid::regclass::text, tgname) FROM pg_trigger)`
	was := database.Query(t, "SELECT "+states)[0][0]
	for _, existing := range []sink.Existing{sink.Refuse, sink.Append, sink.Truncate} {
		table := beginTable(t, db, "whole", sink.Filling{Existing: existing, TriggersOff: true})
		err := loadText(table.Loaders()[0], "1\n7\n")
		if err == nil {
			_, err = table.Loaders()[0].Close()
		}
		if err == nil {
			err = table.Commit()
		}
		if err != nil {
			t.Fatal(existing, err)
		}
	}
	expectCount(t, database, "whole", "2")
	if is := database.Query(t, "SELECT "+states)[0][0]; is != was {
		t.Errorf("the triggers are %s, and were %s", is, was)
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
