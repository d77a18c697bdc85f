package load

import (
	"testing"
)

// ShortenPatience lets no read wait after a failure.
func ShortenPatience(tb testing.TB) {
	before := patience
	patience = 0
	tb.Cleanup(func() { patience = before })
}
