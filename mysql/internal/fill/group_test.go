package fill_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/mysql/internal/fill"
	"culvert/sink"
)

// fillGroup replaces the rows of tables together, by texts of rows. It returns the first error.
func fillGroup(t *testing.T, db *fill.DB, tables []string, rows [][]string) (err error) {
	t.Helper()
	group, err := db.Group(t.Context(), truncated(tables...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.Discard()) }()
	for _, i := range group.Order() {
		table, err := group.Table(i)
		if err != nil {
			return err
		}
		loader := table.Loaders()[0]
		if err := loader.Load(texts(rows[i]...)); err != nil {
			return err
		}
		if _, err := loader.Close(); err != nil {
			return err
		}
		if err := table.Commit(); err != nil {
			return err
		}
	}
	return group.Commit()
}

// truncated are the tables of a group whose rows are replaced.
func truncated(tables ...string) (members []sink.Member) {
	for _, name := range tables {
		members = append(members, sink.Member{Name: name, Filling: sink.Filling{Existing: sink.Truncate}})
	}
	return members
}

// TestGroupChecked leaves the checks of keys to the server if the order of the tables suits them, since tables may have
// triggers that the user cannot see, and whose statements need the checks.
func TestGroupChecked(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, p int,"+
		" CONSTRAINT parent FOREIGN KEY (p) REFERENCES p (id)); INSERT INTO p VALUES (1); INSERT INTO c VALUES (1, 1)")
	db := open(t, database)
	plan, err := db.PlanGroup(t.Context(), truncated("c", "p"))
	if err != nil {
		t.Fatal(err)
	}
	if steps := slices.Concat(plan.Steps...); slices.Contains(steps, "SET SESSION foreign_key_checks = 0") {
		t.Errorf("the steps are %q", steps)
	}
	err = fillGroup(t, db, []string{"c", "p"}, [][]string{{"9 2"}, {"3"}})
	if row, is := errors.AsType[*sink.RowError](err); !is || !row.Dangling || row.Constraint != "parent" {
		t.Errorf("a row refers to none: %v", err)
	}
	expect(t, database, "SELECT * FROM c", "1 1")
	if err := fillGroup(t, db, []string{"c", "p"}, [][]string{{"9 2"}, {"2"}}); err != nil {
		t.Error(err)
	}
	expect(t, database, "SELECT * FROM c JOIN p ON p.id = c.p", "9 2 2")
}

// TestGroupTriggers leaves the checks of a table that refers to itself to the server, since it has triggers. Tables
// with triggers that refer to each other in a circle cannot be filled.
func TestGroupTriggers(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id int PRIMARY KEY, up int, FOREIGN KEY (up) REFERENCES t (id));"+
		"INSERT INTO t VALUES (1, NULL); CREATE TABLE log (id int);"+
		"CREATE TRIGGER x AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id);"+
		"CREATE TABLE a (id int PRIMARY KEY, b int); CREATE TABLE b (id int PRIMARY KEY, a int,"+
		" FOREIGN KEY (a) REFERENCES a (id)); ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b (id);"+
		"CREATE TRIGGER y AFTER INSERT ON a FOR EACH ROW INSERT INTO log VALUES (NEW.id)")
	db := open(t, database)
	if err := fillGroup(t, db, []string{"t"}, [][]string{{"2 -", "3 2"}}); err != nil {
		t.Error(err)
	}
	expect(t, database, "SELECT * FROM t ORDER BY id", "2 ", "3 2")
	expect(t, database, "SELECT * FROM log ORDER BY id", "2", "3")
	_, err := db.PlanGroup(t.Context(), truncated("a", "b"))
	if err == nil || !strings.Contains(err.Error(), "triggers") {
		t.Errorf("tables with triggers that refer to each other: %v", err)
	}
}

// TestGroupTriggersBeside has triggers of tables beside a circle, whose rows the server checks.
func TestGroupTriggersBeside(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE a (id int PRIMARY KEY, b int NOT NULL, p int, "+
		"CONSTRAINT a_p FOREIGN KEY (p) REFERENCES p (id)); CREATE TABLE b (id int PRIMARY KEY, a int NOT NULL,"+
		" FOREIGN KEY (a) REFERENCES a (id)); ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b (id);"+
		"CREATE TABLE c (id int PRIMARY KEY, b int, CONSTRAINT c_b FOREIGN KEY (b) REFERENCES b (id));"+
		"CREATE TABLE logged (id int PRIMARY KEY); CREATE TABLE log (id int, FOREIGN KEY (id) REFERENCES logged (id));"+
		"CREATE TRIGGER x AFTER INSERT ON p FOR EACH ROW INSERT INTO log VALUES (NEW.id);"+
		"CREATE TRIGGER y AFTER INSERT ON c FOR EACH ROW INSERT INTO log VALUES (NEW.id);"+
		"INSERT INTO logged VALUES (1), (5)")
	db := open(t, database)
	names := []string{"c", "b", "a", "p"}
	for range 2 {
		if err := fillGroup(t, db, names, [][]string{{"5 2"}, {"2 3"}, {"3 2 1"}, {"1"}}); err != nil {
			t.Fatal(err)
		}
	}
	for constraint, rows := range map[string][][]string{
		"a_p": {{"5 2"}, {"2 3"}, {"3 2 9"}, {"1"}}, "c_b": {{"5 9"}, {"2 3"}, {"3 2 1"}, {"1"}},
		"log_ibfk_1": {{"7 2"}, {"2 3"}, {"3 2 1"}, {"1"}},
	} {
		err := fillGroup(t, db, names, rows)
		if row, is := errors.AsType[*sink.RowError](err); !is || !row.Dangling || row.Constraint != constraint {
			t.Errorf("%s does not hold: %v", constraint, err)
		}
	}
	expect(t, database, "SELECT c.id, b.a, a.p FROM c JOIN b ON b.id = c.b JOIN a ON a.id = b.a", "5 3 1")
	expect(t, database, "SELECT id FROM log ORDER BY id", "1", "1", "5", "5")
	if database.Try("INSERT INTO c VALUES (8, 8)") == nil {
		t.Error("the keys are checked no more")
	}
}
