package fill

import (
	"testing"
	"time"
)

// ShortenGrace lets a test not wait long for a server that does not answer.
func ShortenGrace(tb testing.TB) {
	before := grace
	grace = time.Second
	tb.Cleanup(func() { grace = before })
}
