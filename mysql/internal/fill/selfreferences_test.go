package fill_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
)

// TestSelfReferencesAndOthers replaces rows that refer to each other, and to others, and to which others refer. The
// keys hold in the end, and the session checks them again.
func TestSelfReferencesAndOthers(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1);"+
		"CREATE TABLE t (id int PRIMARY KEY, up int, parent int, CONSTRAINT up FOREIGN KEY (up) REFERENCES t (id),"+
		" CONSTRAINT other FOREIGN KEY (parent) REFERENCES p (id)); INSERT INTO t VALUES (1, NULL, 1), (2, 1, 1);"+
		"CREATE TABLE child (up int, CONSTRAINT child FOREIGN KEY (up) REFERENCES t (id))")
	db := open(t, database)
	truncate := sink.Filling{Existing: sink.Truncate}
	refused := func(constraint string, rows ...string) {
		t.Helper()
		err := fillRows(t, db, truncate, rows...)
		row, ok := errors.AsType[*sink.RowError](err)
		if !ok || row.Constraint != constraint || row.Code != "1452" {
			t.Errorf("%q: %v", rows, err)
		}
		expect(t, database, "SELECT * FROM t ORDER BY id", "1  1", "2 1 1")
	}
	refused("other", "3 4 1", "4 - 2")
	refused("up", "3 4 1", "5 - 1")
	database.Exec(t, "INSERT INTO child VALUES (2)")
	if _, err := db.Table(context.Background(), "t", truncate); !errors.As(err, new(*sink.ReferencedError)) {
		t.Errorf("rows of another table refer to it: %v", err)
	}
	database.Exec(t, "DELETE FROM child")
	if err := fillRows(t, db, truncate, "3 4 1", "4 3 1"); err != nil {
		t.Error(err)
	}
	expect(t, database, "SELECT * FROM t ORDER BY id", "3 4 1", "4 3 1")
	plan, err := db.Plan(context.Background(), "t", truncate)
	if err != nil || !slices.Contains(plan.Steps, "SET SESSION foreign_key_checks = 0") {
		t.Errorf("plan %q, %v", plan.Steps, err)
	}
	// A trigger may need the checks.
	database.Exec(t, "UPDATE t SET up = NULL; DELETE FROM t;"+
		"CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW INSERT INTO child VALUES (99)")
	if err := fillRows(t, db, sink.Filling{}, "7 - 1"); err == nil {
		t.Error("a trigger has broken a foreign key")
	}
	expect(t, database, "SELECT * FROM child")
}

// TestSelfReferencesEachPart commits rows that refer to each other part by part. The keys of a part are checked without
// the rows of earlier parts, and a part whose keys refer to none is not committed.
func TestSelfReferencesEachPart(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id int PRIMARY KEY, up int, CONSTRAINT up FOREIGN KEY (up) REFERENCES t (id));"+
		"INSERT INTO t VALUES (9, NULL)")
	db := open(t, database)
	filling := sink.Filling{
		Existing: sink.Truncate, EachPart: true, Ledger: &sink.Ledger{Table: "ledger", Load: "1"},
	}
	plan, err := db.Plan(t.Context(), "t", filling)
	if err != nil || !slices.ContainsFunc(plan.Steps, func(sql string) bool {
		return strings.HasPrefix(sql, "CREATE TEMPORARY TABLE")
	}) {
		t.Errorf("plan %q, %v", plan.Steps, err)
	}
	table, loader := begin(t, db, filling)
	part := func(name string, rows ...string) error {
		if err := loader.Load(texts(rows...)); err != nil {
			t.Fatal(err)
		}
		if n, sum, err := loader.Sum(); err != nil || n != int64(len(rows)) || sum == (sink.Sum{}) {
			t.Errorf("the sum of part %s: %d rows, %v", name, n, err)
		}
		return loader.EndPart(sink.Part{Name: name, Rows: int64(len(rows))})
	}
	if err := errors.Join(part("a", "1 2", "2 1"), part("b", "3 1", "4 5", "5 -")); err != nil {
		t.Fatal(err)
	}
	err = part("c", "6 7")
	if row, ok := errors.AsType[*sink.RowError](err); !ok || row.Constraint != "up" || row.Value != "7" {
		t.Errorf("a part that refers to a later one: %v", err)
	}
	if err := table.Discard(); err != nil {
		t.Fatal(err)
	}
	expect(t, database, "SELECT * FROM t ORDER BY id", "1 2", "2 1", "3 1", "4 5", "5 ")
	table, loader = begin(t, db, filling)
	if loaded := table.Loaded(); len(loaded) != 2 {
		t.Errorf("the ledger has %v", loaded)
	}
	if err := part("c", "6 7", "7 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := loader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	expect(t, database, "SELECT COUNT(*) FROM t", "7")
}

// TestSelfReferencesConflicts commits rows that are in conflict with those of earlier parts. An update can take from
// earlier rows what they refer to, which is refused, and a row that is ignored may refer to none.
func TestSelfReferencesConflicts(t *testing.T) {
	for _, test := range []struct {
		conflict sink.Conflict
		row      string
		refused  bool
		want     string
	}{
		{sink.Update, "1 30 30", true, "1 10 10; 2 20 10"},
		{sink.Update, "2 30 30", false, "1 10 10; 2 30 30"},
		{sink.Ignore, "1 30 99", false, "1 10 10; 2 20 10"},
		{sink.Ignore, "3 30 99", true, "1 10 10; 2 20 10"},
	} {
		database := testkit.MariaDB(t).NewDatabase(t)
		database.Exec(t, "CREATE TABLE t (id int PRIMARY KEY, code int UNIQUE, up int,"+
			" CONSTRAINT up FOREIGN KEY (up) REFERENCES t (code))")
		filling := sink.Filling{
			EachPart: true, Ledger: &sink.Ledger{Table: "ledger", Load: "1"}, Conflict: test.conflict,
		}
		if test.conflict == sink.Update {
			filling.Key = []string{"id"}
		}
		table, loader := begin(t, open(t, database), filling)
		part := func(name string, rows ...string) error {
			if err := loader.Load(texts(rows...)); err != nil {
				return err
			}
			return loader.EndPart(sink.Part{Name: name, Rows: int64(len(rows))})
		}
		if err := part("a", "1 10 10", "2 20 10"); err != nil {
			t.Fatal(err)
		}
		err := part("b", test.row)
		if row, ok := errors.AsType[*sink.RowError](err); ok != test.refused || ok && row.Constraint != "up" {
			t.Errorf("%v: %v", test, err)
		}
		if err := table.Discard(); err != nil {
			t.Error(err)
		}
		expect(t, database, "SELECT * FROM t ORDER BY id", strings.Split(test.want, "; ")...)
	}
}

// TestSelfReferencesWithoutTemporary commits rows that refer to each other part by part, by a user who may not make a
// temporary table: all rows are looked at then.
func TestSelfReferencesWithoutTemporary(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id int PRIMARY KEY, up int, CONSTRAINT up FOREIGN KEY (up) REFERENCES t (id));"+
		"CREATE USER writer@localhost; GRANT SELECT, INSERT, DELETE, CREATE, ALTER ON "+database.Name+
		".* TO writer@localhost; GRANT SELECT ON sys.* TO writer@localhost")
	db := openURL(t, strings.Replace(database.URL(), "root@", "writer@", 1))
	filling := sink.Filling{EachPart: true, Ledger: &sink.Ledger{Table: "ledger", Load: "1"}}
	table, loader := begin(t, db, filling)
	if err := loader.Load(texts("1 2", "2 1")); err != nil {
		t.Fatal(err)
	}
	if err := loader.EndPart(sink.Part{Name: "a", Rows: 2}); err != nil {
		t.Fatal(err)
	}
	if err := loader.Load(texts("3 4")); err != nil {
		t.Fatal(err)
	}
	err := loader.EndPart(sink.Part{Name: "b", Rows: 1})
	if row, ok := errors.AsType[*sink.RowError](err); !ok || row.Constraint != "up" {
		t.Error(err)
	}
	if err := table.Discard(); err != nil {
		t.Error(err)
	}
	expect(t, database, "SELECT * FROM t ORDER BY id", "1 2", "2 1")
	opened := database.Query(t, "SHOW GLOBAL STATUS LIKE 'Opened_views'")
	if opened != nil && opened[0][1] != "0" { // MySQL does not count them
		t.Errorf("the server has opened %s views of other databases to answer questions about a table", opened[0][1])
	}
}

// TestSelfReferencesNextNumber commits rows with NULL for the next number of AUTO_INCREMENT part by part.
func TestSelfReferencesNextNumber(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id bigint unsigned AUTO_INCREMENT PRIMARY KEY, up bigint unsigned,"+
		" CONSTRAINT up FOREIGN KEY (up) REFERENCES t (id))")
	table, loader := begin(t, open(t, database), sink.Filling{
		EachPart: true, Ledger: &sink.Ledger{Table: "ledger", Load: "1"},
	})
	if err := loader.Load(texts("7 8", "- 7", "18446744073709551614 -")); err != nil {
		t.Fatal(err)
	}
	if err := loader.EndPart(sink.Part{Name: "a", Rows: 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := loader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	expect(t, database, "SELECT * FROM t ORDER BY id", "7 8", "8 7", "18446744073709551614 ")
}

// TestSelfReferencesBinary names a key of binary data that refers to none by its digits.
func TestSelfReferencesBinary(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id binary(4) PRIMARY KEY, up binary(4), CONSTRAINT up FOREIGN KEY (up)"+
		" REFERENCES t (id))")
	err := fillRows(t, open(t, database), sink.Filling{}, "abcd -", "efgh \xff\x00\x01\x02")
	if row, ok := errors.AsType[*sink.RowError](err); !ok || row.Value != `\xff000102` || row.Column != "up" {
		t.Errorf("the error is %#v", err)
	}
}
