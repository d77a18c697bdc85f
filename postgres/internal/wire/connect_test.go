package wire_test

import (
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/postgres/internal/wire"
)

// TestClose connects again and again as a role that may have one connection.
func TestClose(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	config, err := wire.ParseConfig(database.ConnStringAs(database.NewRole(t, "one", "CONNECTION LIMIT 1")))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		conn, err := wire.Connect(t.Context(), config, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		wire.Close(conn, "ROLLBACK", time.Minute)
		if !conn.IsClosed() {
			t.Error("a connection is left")
		}
	}
}
