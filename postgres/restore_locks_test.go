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

// TestRestoreOfMoreTablesThanLocks makes more tables than the lock table of the server has room for, and goes on after
// a statement in the middle has failed.
func TestRestoreOfMoreTablesThanLocks(t *testing.T) {
	server := testkit.NewPostgres(t, testkit.PostgresConfig{
		Settings: []string{"max_locks_per_transaction = 10", "max_connections = 20"},
	})
	database := server.NewDatabase(t)
	schema := &source.Schema{Dialect: source.PostgreSQL, Tables: true, Statements: []source.Statement{
		{SQL: "SET default_table_access_method = heap"}, {SQL: "CREATE SCHEMA many"},
	}}
	const tables = 1000
	for i := range tables {
		sql := fmt.Sprintf("CREATE TABLE many.table_%d (id integer, text text)", i)
		schema.Statements = append(schema.Statements, source.Statement{SQL: sql})
	}
	last := schema.Statements[len(schema.Statements)-1].SQL
	schema.Statements[len(schema.Statements)-1].SQL += " WITH (fillfactor = 1)" // which no table can have

	restore := func() (sink.Restoration, error) {
		t.Helper()
		db, err := postgres.OpenSink(context.Background(), database.ConnString())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db.Restore(context.Background(), "load", schema, sink.Filling{})
	}
	_, err := restore()
	failed, is := errors.AsType[*sink.StatementsError](err)
	if !is || !failed.Before || failed.Kept == 0 || failed.Kept >= tables {
		t.Fatalf("got %v, want the error of the last statement, and that others are kept", err)
	}
	schema.Statements[len(schema.Statements)-1].SQL = last
	r, err := restore()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	const count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'many'"
	if got := database.Query(t, count)[0][0]; got != fmt.Sprint(tables) {
		t.Errorf("there are %s tables, want %d", got, tables)
	}
}
