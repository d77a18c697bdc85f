package canonical

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"culvert/source"
)

// TestUsualNumbers has random texts like numbers anywhere in a line: one that is seen to be canonical is, and one that
// is changed at once becomes its canonical text. Most usual numbers are seen.
func TestUsualNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(36, 0))
	var values Values
	for _, logical := range []source.Type{
		{Class: source.IntClass, Bits: 64},
		{Class: source.FloatClass, Bits: 64},
		{Class: source.FloatClass, Bits: 32},
		{Class: source.DecimalClass},
		{Class: source.DecimalClass, Precision: 12},
		{Class: source.DecimalClass, Precision: 12, Scale: 2},
	} {
		column := source.Column{Logical: logical}
		form, quick := usualOf(column, source.SQLite), quickOf(column)
		seen, changed := 0, 0
		for range 300_000 {
			text := likeNumber(r)
			before, after := strings.Repeat("x,", r.IntN(6)), strings.Repeat(",9", r.IntN(6))
			line := []byte(before + text + after + "\n")
			at, end := len(before), len(before)+len(text)
			want, differs := values.canonical(logical, []byte(text))
			if form.fits(line, at, end) {
				if seen++; differs {
					t.Fatalf("%v: %q is %q", logical, text, want)
				}
				continue
			}
			var j jsonInLine
			if quick != nil && quick(&j, line, at, end) {
				changed++
				if j.copy(line, len(line), 0); !differs || string(j.out) != before+string(want)+after+"\n" {
					t.Fatalf("%v: %q is %q, not %q", logical, line, want, j.out)
				}
			}
		}
		if seen < 10_000 || quick != nil && changed < 1_000 {
			t.Errorf("%v: %d are seen to be usual, and %d are changed", logical, seen, changed)
		}
	}
}

// likeNumber returns a number, mostly, of which one byte may be another one.
func likeNumber(r *rand.Rand) string {
	number := []byte{'-'}[:r.IntN(8)/7]
	number = append(number, fmt.Sprint(r.Uint64()>>(1+r.IntN(63)))...)
	if r.IntN(2) == 0 {
		number = append(number, '.')
		for range r.IntN(4) + r.IntN(9)/8*r.IntN(14) {
			number = append(number, "01234567890"[r.IntN(11)])
		}
	}
	if r.IntN(8) == 0 {
		number[r.IntN(len(number))] = "0.-+eE/:,\"\x80\xff \x00\x7f"[r.IntN(15)]
	}
	return string(number)
}
