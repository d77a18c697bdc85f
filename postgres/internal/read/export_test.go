package read

import (
	"testing"
	"time"

	"culvert/postgres/internal/valuetext"
)

// ShortenGrace lets a test not wait long for a server that does not react.
func ShortenGrace(tb testing.TB) {
	before := grace
	grace = 50 * time.Millisecond
	tb.Cleanup(func() { grace = before })
}

// ShortenPatience lets a test not wait long for a connection that does not come.
func ShortenPatience(tb testing.TB) {
	before := patience
	patience = 3 * time.Second
	tb.Cleanup(func() { patience = before })
}

// ShrinkRanges makes small tables worth dividing.
func ShrinkRanges(tb testing.TB) {
	before := rangePages
	rangePages = 1
	tb.Cleanup(func() { rangePages = before })
}

// ShortenLockTimeouts lets a test not wait long for a lock.
func ShortenLockTimeouts(tb testing.TB) {
	beforeTry, before, beforePart := tryTimeout, lockTimeout, partTimeout
	tryTimeout, lockTimeout, partTimeout = 50*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	tb.Cleanup(func() { tryTimeout, lockTimeout, partTimeout = beforeTry, before, beforePart })
}

// ShortenDumpTimeout has pg_dump wait shortly for a lock, the first time that it runs.
func ShortenDumpTimeout(tb testing.TB) {
	before := dumpTimeout
	dumpTimeout = 100 * time.Millisecond
	tb.Cleanup(func() { dumpTimeout = before })
}

// PrintTimestampTZ prints a time of 8 bytes.
func PrintTimestampTZ(value []byte) string {
	var room [64]byte
	const timestamptz = 1184
	text, ok := valuetext.Of(timestamptz).Print(room[:0], value)
	if !ok {
		panic("not a time")
	}
	return string(text)
}

// SpendLocks leaves no locks that may be kept.
func (db *DB) SpendLocks() { db.kept = db.mostLocks() }
