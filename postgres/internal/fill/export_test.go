package fill

import (
	"testing"
	"time"

	"culvert/sink/grammar"
)

// ShortenGrace lets a test not wait long for a server that does not answer.
func ShortenGrace(tb testing.TB) {
	before := grace
	grace = time.Second
	tb.Cleanup(func() { grace = before })
}

// Passes reports whether a text of CSV can be loaded as it is into a table of which one column has a type.
func Passes(text []byte, column int, of string) bool {
	f := fit{columns: []fitted{{index: column, grammar: grammar.Postgres(of)}}}
	return f.passes(text)
}
