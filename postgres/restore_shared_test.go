package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// TestRestoreSharesTransactions has keys of small tables added several in a transaction, except the one that fails, and
// that of a large table.
func TestRestoreSharesTransactions(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	schema := &source.Schema{Dialect: source.PostgreSQL, Tables: true}
	add := func(after bool, sql string) {
		schema.Statements = append(schema.Statements, source.Statement{SQL: sql, After: after})
	}
	const tables = 20
	for i := range tables {
		add(false, fmt.Sprintf(`CREATE TABLE public."Table %d" (id integer)`, i))
	}
	for i := range tables {
		add(true, fmt.Sprintf(`ALTER TABLE ONLY public."Table %d" ADD CONSTRAINT key_%d PRIMARY KEY (id)`, i, i))
	}
	finish := func() error {
		db, err := postgres.OpenSink(context.Background(), database.ConnString())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		r, err := db.Restore(context.Background(), "load", schema, sink.Filling{})
		if err != nil {
			t.Fatal(err)
		}
		database.Exec(t, `INSERT INTO public."Table 0" SELECT generate_series(1, 100000)
			WHERE NOT EXISTS (SELECT FROM public."Table 0")`)
		return r.Finish(context.Background(), 2)
	}
	failing := schema.Statements[tables+1].SQL
	schema.Statements[tables+1].SQL += " DEFERRABLE NOT DEFERRABLE" // which is refused
	failed, is := errors.AsType[*sink.StatementsError](finish())
	if !is || len(failed.Failed) != 1 || failed.Failed[0].SQL != schema.Statements[tables+1].SQL {
		t.Fatalf("got %v, want the error of one statement", failed)
	}
	const keysSQL = "SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND conname LIKE 'key%'"
	if keys := database.Query(t, keysSQL)[0][0]; keys != fmt.Sprint(tables-1) {
		t.Errorf("%s keys were added, want %d", keys, tables-1)
	}
	const transactionsSQL = `SELECT count(DISTINCT xmin::text) < count(*),
		(SELECT count(*) FROM culvert_restore.statements AS s WHERE s.xmin = (SELECT t.xmin
			FROM culvert_restore.statements AS t WHERE t.hash = encode(sha256(convert_to(%s, 'UTF8')), 'hex')))
		FROM culvert_restore.statements`
	large := "'" + schema.Statements[tables].SQL + "'"
	if got := database.Query(t, fmt.Sprintf(transactionsSQL, large))[0]; got[0] != "t" || got[1] != "1" {
		t.Errorf("statements share transactions: %s; the key of the large table is in one with %s", got[0], got[1])
	}
	schema.Statements[tables+1].SQL = failing
	if err := finish(); err != nil {
		t.Fatal(err)
	}
	if keys := database.Query(t, keysSQL)[0][0]; keys != fmt.Sprint(tables) {
		t.Errorf("%s keys were added, want %d", keys, tables)
	}
}
