package fill

import (
	"context"
	"testing"
	"time"
)

// LockTimeout returns how many seconds the session of a sink waits for locks.
func LockTimeout(t *testing.T, db *DB) string {
	t.Helper()
	found, err := db.conn.Query(context.Background(), 1, "SELECT @@lock_wait_timeout")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0][0]
}

// ShortenGrace has a test wait less for servers that do not answer.
func ShortenGrace(t *testing.T) {
	before := grace
	grace = time.Second
	t.Cleanup(func() { grace = before })
}
