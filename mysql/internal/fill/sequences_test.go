package fill_test

import (
	"net/url"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
	"culvert/source"
)

// TestSequences sets the sequences of MariaDB from which defaults draw past the rows that came, however they came, and
// never back.
func TestSequences(t *testing.T) {
	testkit.NeedsMariaDB(t, "sequences")
	ledger := &sink.Ledger{Table: "ledger", Load: "load"}
	for name, test := range map[string]struct {
		filling sink.Filling
		want    string // the next numbers of the columns
		steps   int    // that set sequences
	}{
		"":         {sink.Filling{}, "8 8 -8 101", 4},
		"keep":     {sink.Filling{KeepSequences: true}, "1 1 -1 101", 0},
		"truncate": {sink.Filling{Existing: sink.Truncate}, "8 8 -8 101", 4},
		"several":  {sink.Filling{Loaders: 2}, "8 8 -8 101", 4},
		"parts":    {sink.Filling{EachPart: true, Ledger: ledger}, "8 8 -8 101", 4},
		"columns":  {sink.Filling{Columns: []string{"b"}}, "1 8 -1 101", 1},
		"grouped":  {sink.Filling{Existing: sink.Truncate, Grouped: true}, "8 8 -8 101", 4},
		"rights":   {sink.Filling{}, "1 1 -1 101", 4},
	} {
		database := testkit.MariaDB(t).NewDatabase(t)
		for _, sql := range []string{
			"CREATE SEQUENCE s NOCACHE", "CREATE SEQUENCE `odd``s` NOCACHE",
			"CREATE SEQUENCE far START WITH 101 NOCACHE", "CREATE SEQUENCE down START WITH -1 INCREMENT BY -1 NOCACHE",
			"CREATE TABLE t (a int DEFAULT NEXTVAL(s) PRIMARY KEY, b int DEFAULT (NEXTVAL(`odd``s`)), " +
				"c bigint DEFAULT NEXTVAL(down), d decimal(20) DEFAULT NEXTVAL(far), " +
				"e text DEFAULT 'nextval(`a`.`b`)')",
		} {
			database.Exec(t, sql)
		}
		if test.filling.Columns == nil {
			test.filling.Columns = []string{"a", "b", "c", "d"}
		} else {
			database.Exec(t, "ALTER TABLE t ALTER a SET DEFAULT 3, ALTER c DROP DEFAULT, ALTER d DROP DEFAULT")
		}
		db := open(t, database)
		if name == "rights" {
			user := "few" + database.Name
			database.Exec(t, "CREATE USER "+user+"@localhost; GRANT SELECT, INSERT ON "+database.Name+".t TO "+user+
				"@localhost")
			t.Cleanup(func() { database.Exec(t, "DROP USER "+user+"@localhost") })
			db = openURL(t, strings.Replace(database.URL(), "root@", url.PathEscape(user)+"@", 1))
		}
		plan, err := db.Plan(t.Context(), "t", test.filling)
		if err != nil {
			t.Fatal(name, err)
		}
		if n := strings.Count(strings.Join(plan.Steps, "\n"), "SETVAL("); n != test.steps {
			t.Errorf("%s: %d sequences would be set: %q", name, n, plan.Steps)
		}
		fillSequences(t, db, test.filling)
		var next []string
		for _, sequence := range []string{"s", "`odd``s`", "down", "far"} {
			next = append(next, database.Query(t, "SELECT NEXTVAL("+sequence+")")[0][0])
		}
		if got := strings.Join(next, " "); got != test.want {
			t.Errorf("%s: the next numbers are %s, want %s", name, got, test.want)
		}
	}
}

// fillSequences puts a row into the table t, whose columns have 7, or -7 if they are called c.
func fillSequences(t *testing.T, db sink.Sink, f sink.Filling) {
	t.Helper()
	var table sink.Table
	var group sink.Group
	var err error
	if f.Grouped {
		if group, err = db.(sink.Grouper).Group(t.Context(), []sink.Member{{Name: "t", Filling: f}}); err == nil {
			table, err = group.Table(0)
		}
	} else {
		table, err = db.Table(t.Context(), "t", f)
	}
	if err != nil {
		t.Fatal(err)
	}
	var rows source.Batch
	rows.Reset(len(table.Columns()))
	for _, c := range table.Columns() {
		number := "7"
		if c.Name == "c" {
			number = "-7"
		}
		rows.Append(source.Number, []byte(number))
	}
	rows.EndRow()
	for i, loader := range table.Loaders() {
		if i == 0 {
			err = loader.Load(&rows)
			if err == nil && f.Ledger != nil {
				err = loader.EndPart(sink.Part{Name: "one", Rows: 1})
			}
		}
		if err == nil {
			_, err = loader.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err = table.Commit(); err == nil && group != nil {
		err = group.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}
