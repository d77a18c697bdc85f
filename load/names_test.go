package load_test

import (
	"errors"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/sink"
	"culvert/sink/dialect"
)

// TestLongNames refuses, in the look-up, tables and columns whose names the target would cut or cannot have. The others
// are made. A table whose name is the cut one is not taken for the table.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", 63)
	src := newLite(t, "CREATE TABLE "+long+"aa (id int)", "INSERT INTO "+long+"aa VALUES (1)",
		"CREATE TABLE "+long+"bb (id int)", "CREATE TABLE columns ("+long+"aa int, "+long+"bb int)",
		"CREATE TABLE good (id int)", "CREATE TABLE same (id int)")
	postgres, toPostgres := newPostgres(t, "CREATE TABLE "+long+" (id int)")
	maria := testkit.MariaDB(t).NewDatabase(t)
	toMaria, err := mysql.OpenSink(t.Context(), maria.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, toMaria)
	tables := []load.Names{
		{From: long + "aa", To: long + "aa"},
		{From: long + "bb", To: long + "bb"},
		{From: "columns", To: "columns"},
		{From: "good", To: "good"},
		{From: "same", To: long + "cc"},
	}
	for name, dst := range map[string]sink.Sink{"PostgreSQL": toPostgres, "MariaDB": toMaria} {
		plan := load.Plan{Create: true}
		planned, err := plan.PreviewTables(t.Context(), dst, src, tables)
		for _, one := range planned {
			if _, is := errors.AsType[*dialect.NameError](one.Err); is != (one.Name != "good") {
				t.Errorf("%s: the plan of %s: %v", name, one.Name, one.Err)
			}
		}
		if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 4 {
			t.Errorf("%s: %v", name, err)
		}
		all, err := plan.CopyTables(t.Context(), dst, src, tables)
		if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 4 {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
	}
	beyond := []load.Names{{From: "good", To: "😀"}}
	_, err = (&load.Plan{Create: true}).PreviewTables(t.Context(), toMaria, src, beyond)
	if _, is := errors.AsType[*dialect.NameError](err); !is {
		t.Errorf("the plan of a name that MariaDB cannot have: %v", err)
	}
	if rows := postgres.Query(t, "SELECT count(*) FROM "+long)[0][0]; rows != "0" {
		t.Errorf("another table has %s rows", rows)
	}
}
