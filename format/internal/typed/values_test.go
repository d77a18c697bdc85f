package typed

import (
	"math/rand/v2"
	"testing"

	"culvert/source"
)

// TestDecimals reads numbers of few digits in both ways.
func TestDecimals(t *testing.T) {
	const rounds, most = 200_000, 24
	short, random := 0, rand.New(rand.NewPCG(1, 0))
	for range rounds {
		text := make([]byte, random.IntN(most))
		for i := range text {
			text[i] = "00123456789"[random.IntN(11)]
		}
		for _, c := range []byte("-..x")[random.IntN(4):] {
			if len(text) > 0 && random.IntN(3) > 0 {
				text[random.IntN(len(text))] = c
			}
		}
		c := Column{Logical: source.Type{Class: source.DecimalClass, Precision: 1 + random.IntN(MaxDigits)}}
		c.Logical.Scale = random.IntN(c.Logical.Precision + 1)
		want, fits := c.longDecimal(text)
		got, ok := c.shortDecimal(text)
		if ok {
			short++
		}
		if ok && (!fits || uint64(got) != want[0] || uint64(got>>63) != want[1]) {
			t.Fatalf("%q as %v is %v, want %v (%v)", text, c.Logical, got, want, fits)
		}
	}
	if short < rounds/100 {
		t.Errorf("only %d of %d were short", short, rounds)
	}
}
