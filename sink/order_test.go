package sink_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"culvert/sink"
)

// TestOrderByKeys orders random tables: a key that is in no circle finds its table before, and one is in a circle if
// its table leads back.
func TestOrderByKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n := 1 + random.IntN(8)
		keys := make([]sink.Key, random.IntN(12))
		leads := make([][]bool, n) // by any number of keys
		for i := range leads {
			leads[i] = make([]bool, n)
			leads[i][i] = true
		}
		for k := range keys {
			keys[k] = sink.Key{From: random.IntN(n), To: random.IntN(n)}
			leads[keys[k].From][keys[k].To] = true
		}
		for over := range n {
			for from := range n {
				for to := range n {
					leads[from][to] = leads[from][to] || leads[from][over] && leads[over][to]
				}
			}
		}
		order, isCircular := sink.OrderByKeys(n, keys)
		if sorted := slices.Sorted(slices.Values(order)); len(sorted) != n || sorted[0] != 0 || sorted[n-1] != n-1 ||
			len(slices.Compact(sorted)) != n {
			t.Fatalf("%d tables are ordered as %v", n, order)
		}
		for k, key := range keys {
			if isCircular[k] != leads[key.To][key.From] {
				t.Fatalf("%v of %v: in a circle: %v", key, keys, isCircular[k])
			}
			if !isCircular[k] && slices.Index(order, key.To) > slices.Index(order, key.From) {
				t.Fatalf("%v of %v comes too early in %v", key, keys, order)
			}
		}
	}
}
