package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
)

// TestRestoreLacks makes a database where the server has not the extension or the role that it needs. Nothing is made,
// and the statement is named. When the server has it, the same load makes all.
func TestRestoreLacks(t *testing.T) {
	server := testkit.Postgres(t)
	from := server.NewDatabase(t)
	role := from.NewRole(t, "owner", "")
	from.Exec(t, `CREATE EXTENSION pg_trgm; CREATE TABLE t (a text); CREATE INDEX ON t USING gin (a gin_trgm_ops);
		ALTER TABLE t OWNER TO `+role)
	schema := schemaOf(t, from)
	want := dump(t, from)
	t.Cleanup(func() { from.Exec(t, "DROP OWNED BY "+role+" CASCADE") })
	for what, is := range map[string]string{"extension": "pg_trgm", "role": role} {
		lacking := *schema
		lacking.Statements = nil
		for _, one := range schema.Statements {
			one.SQL = strings.ReplaceAll(one.SQL, is, "not_on_this_server")
			lacking.Statements = append(lacking.Statements, one)
		}
		to := server.NewDatabase(t)
		empty := dump(t, to)
		err := restore(t, to, &lacking)
		failed, isFailed := errors.AsType[*sink.StatementsError](err)
		if !isFailed || !failed.Before || failed.Kept > 0 || len(failed.Failed) != 1 ||
			!strings.Contains(failed.Failed[0].SQL, "not_on_this_server") {
			t.Errorf("without the %s: %v", what, err)
		}
		if got := dump(t, to); got != empty {
			t.Errorf("without the %s, the database has\n%s", what, got)
		}
		if err := restore(t, to, schema); err != nil {
			t.Errorf("with the %s: %v", what, err)
		}
		if got := dump(t, to); got != want {
			t.Errorf("with the %s, the database is\n%s\nwant\n%s", what, got, want)
		}
		to.Exec(t, "DROP OWNED BY "+role+" CASCADE")
	}
}
