package load_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/load"
	"culvert/sink"
)

// TestDatabaseFunctionRaises has functions of a check and of an index raise in the other database. The rows of the
// first are refused, and the statement of the second is named while the rows stay. When the functions no longer raise,
// the same load goes on.
func TestDatabaseFunctionRaises(t *testing.T) {
	server := testkit.Postgres(t)
	database, again := server.NewDatabase(t), server.NewDatabase(t)
	const raises = `CREATE OR REPLACE FUNCTION s.%(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
		IF current_database() <> '@' THEN RAISE 'not here'; END IF; RETURN a; END $$;`
	functions := ""
	for _, name := range []string{"checked", "indexed"} {
		functions += strings.NewReplacer("%", name, "@", database.Name).Replace(raises)
	}
	database.Exec(t, "CREATE SCHEMA s;"+functions+`
		CREATE TABLE s.a (a int CHECK (s.checked(a) > 0)); CREATE TABLE s.b (a int); CREATE INDEX ON s.b (s.indexed(a));
		INSERT INTO s.a VALUES (1); INSERT INTO s.b VALUES (2), (3)`)
	from := exportDatabase(t, database, 0)
	plan := load.Plan{ReadBack: true}
	all, err := plan.Database(t.Context(), newSink(t, again), from, "a load")
	if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 1 ||
		all[0].Err == nil || !strings.Contains(all[0].Err.Error(), "not here") {
		t.Fatalf("a check that raises: %v, %+v", err, all)
	}
	mend := func(name string) {
		again.Exec(t, "CREATE OR REPLACE FUNCTION s."+name+
			"(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN a; END'")
	}
	mend("checked")
	_, err = plan.Database(t.Context(), newSink(t, again), from, "a load")
	failed, is := errors.AsType[*sink.StatementsError](err)
	if !is || failed.Before || len(failed.Failed) != 1 || !strings.HasPrefix(failed.Failed[0].SQL, "CREATE INDEX") ||
		!strings.Contains(failed.Failed[0].Error(), "not here") {
		t.Fatalf("an index that raises: %v", err)
	}
	rows := again.Query(t, "SELECT (SELECT sum(a) FROM s.a), (SELECT sum(a) FROM s.b)")[0]
	if !slices.Equal(rows, []string{"1", "5"}) {
		t.Errorf("the rows are %q", rows)
	}
	mend("indexed")
	if _, err = plan.Database(t.Context(), newSink(t, again), from, "a load"); err != nil {
		t.Fatal(err)
	}
	again.Exec(t, functions)
	if got, want := dumped(t, again), dumped(t, database); !slices.Equal(got, want) {
		t.Errorf("the database is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
