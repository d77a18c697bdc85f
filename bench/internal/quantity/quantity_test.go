package quantity

import (
	"slices"
	"testing"
)

func TestQuartiles(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Quartiles
	}{
		{[]float64{7}, Quartiles{7, 7, 7}},
		{[]float64{4, 2}, Quartiles{2.5, 3, 3.5}},
		{[]float64{5, 1, 4, 2, 3}, Quartiles{2, 3, 4}},
		{[]float64{40, 10, 30, 20}, Quartiles{17.5, 25, 32.5}},
	} {
		if got := QuartilesOf(c.values); got != c.want {
			t.Errorf("quartiles of %v are %v, want %v", c.values, got, c.want)
		}
	}
}

func TestRatios(t *testing.T) {
	got := Ratios([]float64{6, 4, 9}, []float64{3, 8})
	if want := []float64{2, 0.5}; !slices.Equal(got, want) {
		t.Errorf("ratios are %v, want those of the rounds that both have, %v", got, want)
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{8.7, "ns/op", "8.70 ns"},
		{2.74e9, "ns/op", "2.74 s"},
		{999.8e6, "ns/op", "1.00 s"},
		{9.996e6, "ns/op", "10.0 ms"},
		{160e6, "cpu-ns/op", "160 ms"},
		{1.9, "cpu-s/GiB", "1.90 s"},
		{72, "mount-cpu-µs/op", "72.0 µs"},
		{50.3 * (1 << 20), "peak-bytes", "50.3 MiB"},
		{79.3e6, "B/op", "79.3 MB"},
		{0, "B/op", "0 B"},
		{5, "B/op", "5 B"},
		{5.25, "B/op", "5.25 B"},
		{7267.4, "MB/s", "7,267"},
		{1_674_021, "allocs/op", "1,674,021"},
		{100, "allocs/op", "100"},
		{0.0042, "allocs/write", "0.0042"},
		{0.806, "", "0.81"},
	} {
		if got := Format(c.v, c.unit); got != c.want {
			t.Errorf("%v %s is written %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
