package read

import "testing"

// SetConnections has so many connections share each table of some rows, whatever the size of the file and the number of
// processors.
func SetConnections(t testing.TB, n int) {
	before := []any{processors, largeFile, leastShared, leastSpan}
	processors = func() int { return n }
	largeFile, leastShared, leastSpan = 0, 1, 2
	t.Cleanup(func() {
		processors, largeFile = before[0].(func() int), before[1].(int64)
		leastShared, leastSpan = before[2].(uint64), before[3].(uint64)
	})
}

// SetBetweenBegins has a function called while connections begin.
func SetBetweenBegins(t testing.TB, f func()) {
	betweenBegins = f
	t.Cleanup(func() { betweenBegins = func() {} })
}

// EndOther ends the transaction of a connection that is not the first one.
func EndOther(t testing.TB, db *DB) {
	if err := db.others[0].conn.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}
