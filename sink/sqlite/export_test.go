package sqlite

import "testing"

// Exec runs SQL on the connection of a sink, such as a limit that holds for this connection alone.
func Exec(t *testing.T, db *DB, sql string) {
	t.Helper()
	if err := db.conn.Exec(sql); err != nil {
		t.Fatal(err)
	}
}

// InTransaction reports whether a transaction is open.
func InTransaction(db *DB) bool { return !db.conn.GetAutocommit() }
