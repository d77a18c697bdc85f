package read

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"culvert/internal/sqlsource"
)

// TestBorders divides keys that are far from even, by estimates that are wrong by up to a factor of two.
func TestBorders(t *testing.T) {
	const wanted = 100
	even := func(n int, at func(i int64) int64) (keys []int64) {
		for i := range n {
			keys = append(keys, at(int64(i)))
		}
		return keys
	}
	for name, keys := range map[string][]int64{
		"one":      {7},
		"dense":    even(5000, func(i int64) int64 { return i }),
		"sparse":   even(5000, func(i int64) int64 { return i * 1_000_000_007 }),
		"squares":  even(5000, func(i int64) int64 { return i * i * i }),
		"negative": even(5000, func(i int64) int64 { return i - 2500 }),
		"deleted": slices.Concat(
			even(2000, func(i int64) int64 { return i }), even(2000, func(i int64) int64 { return 1e15 + i })),
		"extremes": append(even(900, func(i int64) int64 { return i }), math.MinInt64, math.MaxInt64),
		"stamps":   append(even(3000, func(i int64) int64 { return 1.7e18 + i*i%97*1e9 + i*1e12 }), 1),
	} {
		t.Run(name, func(t *testing.T) {
			slices.Sort(keys)
			n := &numbers{at: keys[0], last: keys[len(keys)-1], width: 1}
			asked, read := 0, 0
			for ranges := 1; ; ranges++ {
				to, _, err := n.border(wanted, func(to string) (float64, error) {
					asked++
					wrong := []float64{1, 1.9, 0.6}[asked%3]
					return wrong * float64(before(t, keys, to)-read), nil
				})
				if err != nil {
					t.Fatal(err)
				}
				next := before(t, keys, to)
				if size := next - read; size > 5*wanted || size < 0 {
					t.Fatalf("range %d has %d keys", ranges, size)
				}
				if read = next; to == "" {
					break
				}
				if ranges > 5+len(keys)/(wanted/5) {
					t.Fatalf("%d ranges have the first %d keys", ranges, read)
				}
			}
			if most := 60 * (1 + len(keys)/wanted); asked > most {
				t.Errorf("the server was asked %d times", asked)
			}
		})
	}
}

// before counts the keys before a place, or all if it is "".
func before(t *testing.T, keys []int64, place string) int {
	t.Helper()
	if place == "" {
		return len(keys)
	}
	values, err := sqlsource.ReadTexts(place)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	i, _ := slices.BinarySearch(keys, number)
	return i
}
