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
		database.EndSessions(t, "true")
		table := beginTable(t, db, "t", sink.Filling{Existing: sink.Append})
		loadRows(t, table)
		if err := table.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	expectCount(t, database, "t", "2")
}
