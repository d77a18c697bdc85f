package canonical_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"culvert/internal/canonical"
)

// TestDayOf compares days with those of package time, and has ParseDay find their numbers again.
func TestDayOf(t *testing.T) {
	check := func(number int64) {
		year, month, day := canonical.DayOf(number)
		want := time.Unix(number*24*60*60, 0).UTC()
		if y, m, d := want.Date(); year != y || month != int(m) || day != d {
			t.Fatalf("day %d is %d-%d-%d, want %d-%d-%d", number, year, month, day, y, m, d)
		}
		if year < 1 || year > 9999 {
			return
		}
		if back, _, ok := canonical.ParseDay([]byte(want.Format(time.DateOnly))); !ok || back != number {
			t.Fatalf("%s is day %d, want %d", want.Format(time.DateOnly), back, number)
		}
	}
	const aroundZero = 800_000
	for number := int64(-aroundZero); number < aroundZero; number++ {
		check(number)
	}
	random := rand.New(rand.NewPCG(1, 0))
	for range aroundZero {
		check(random.Int64N(2*math.MaxInt32) - math.MaxInt32)
	}
}
