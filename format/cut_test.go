package format

import (
	"math/rand/v2"
	"testing"
)

// TestCutQuoted compares the ways to cut long and short lines, and what chooses between them.
func TestCutQuoted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	long := 0
	for range 20_000 {
		text := make([]byte, r.IntN(300))
		other := 2 + r.IntN(100)
		feeds := 0
		for i := range text {
			text[i] = "\n\"x"[min(2, r.IntN(other))]
			if text[i] == '\n' {
				feeds++
			}
		}
		if feeds <= len(text)/longLine {
			long++
		}
		n, rows := cutQuoted(text)
		if wantN, wantRows := cutBlocks(text); n != wantN || rows != wantRows {
			t.Fatalf("%q: %d bytes and %d rows, want %d and %d", text, n, rows, wantN, wantRows)
		}
	}
	if long < 1000 || long > 19_000 {
		t.Errorf("%d of 20000 texts have long lines", long)
	}
}
