package postgres

import (
	"testing"
	"time"
)

// ShortenGrace lets a test not wait long for a server that does not react.
func ShortenGrace(tb testing.TB) {
	before := grace
	grace = 50 * time.Millisecond
	tb.Cleanup(func() { grace = before })
}
