package fill_test

import (
	"testing"

	"culvert/sink"
)

// TestIdleSession has the server end the session before the first table, and between two, as idle_session_timeout
// does.
func TestIdleSession(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE t (n int)")
	for range 2 {
		database.Exec(t, `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		table := beginTable(t, db, "t", sink.Filling{Existing: sink.Append})
		loadRows(t, table)
		if err := table.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	expectCount(t, database, "t", "2")
}
