package read_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// TestSchemaBehindChange has a change of a table wait for this session, and pg_dump for the change. The schema is that
// of the snapshot.
func TestSchemaBehindChange(t *testing.T) {
	read.ShortenDumpTimeout(t)
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE TABLE u (b int)")
	db := open(t, database.ConnString())
	rows, err := db.Table(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	change := database.PsqlCommand(t, "-c", "ALTER TABLE t ADD later int")
	if err := change.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			_ = change.Process.Kill() // it would wait for this session
		}
		if err := change.Wait(); err != nil {
			t.Error(err)
		}
	}()
	testkit.WaitFor(t, "the change to wait", func() bool {
		return len(database.Query(t, "SELECT 1 FROM pg_locks WHERE relation = 't'::regclass AND NOT granted")) == 1
	})
	schema, err := db.Schema(t.Context(), source.SchemaConfig{})
	if err != nil {
		t.Fatal(err)
	}
	made := func(sql string) bool {
		return slices.ContainsFunc(schema.Statements, func(one source.Statement) bool {
			return strings.Contains(one.SQL, sql)
		})
	}
	if !made("CREATE TABLE public.t (") || !made("CREATE TABLE public.u (") || made("later") {
		t.Errorf("the schema is %v", schema.Statements)
	}
	if _, err := db.Table(t.Context(), "u"); err != nil {
		t.Error("a table after that:", err)
	}
}
