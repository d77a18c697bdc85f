package prune

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestPolicy compares the policy with the words of the help: the last one of each of the last periods that have one,
// and the oldest while there are fewer.
func TestPolicy(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	formats := map[string]func(time.Time) string{
		"daily": func(t time.Time) string { return t.Format("2006-01-02") },
		"weekly": func(t time.Time) string {
			monday := t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
			return monday.Format("2006-01-02")
		},
		"monthly": func(t time.Time) string { return t.Format("2006-01") },
		"yearly":  func(t time.Time) string { return t.Format("2006") },
	}
	for range 300 {
		var begun []time.Time // several a day, with gaps, around the ends of years
		at := time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)
		for range random.IntN(40) {
			begun = append(begun, at)
			at = at.Add(-time.Duration(random.IntN(1+random.IntN(1000))) * time.Hour)
		}
		p := policy{random.IntN(4), random.IntN(8), random.IntN(5), random.IntN(5), random.IntN(3)}
		counts := map[string]int{"daily": p.daily, "weekly": p.weekly, "monthly": p.monthly, "yearly": p.yearly}
		kept := p.keep(begun)
		for i, got := range kept {
			var want []string
			if i < p.last {
				want = append(want, "last")
			}
			for _, name := range []string{"daily", "weekly", "monthly", "yearly"} {
				period := formats[name]
				newer := map[string]bool{}
				for _, t := range begun[:i] {
					newer[period(t)] = true
				}
				isOldest := i == len(begun)-1
				if len(newer) < counts[name] && (!newer[period(begun[i])] || isOldest) {
					want = append(want, name)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%+v keeps export %d of %v by %v, want %v", p, i, begun, got, want)
			}
		}
	}
}

func Example_policy() {
	p := policy{daily: 2, monthly: 2}
	day := func(text string) time.Time {
		t, _ := time.Parse("2006-01-02 15", text)
		return t
	}
	fmt.Println(p.keep([]time.Time{
		day("2026-11-28 20"), day("2026-11-28 02"), day("2026-11-26 02"), day("2026-11-25 02"), day("2026-10-31 02"),
	}))
	// Output: [[daily monthly] [] [daily] [] [monthly]]
}
