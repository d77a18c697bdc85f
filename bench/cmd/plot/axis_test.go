package main

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis   axis
		values []float64
		want   string
	}{
		{axis{unit: "ns/op"}, []float64{1.68e9, 0.35e9}, "0 500 ms 1 s 1.5 s"},
		{axis{unit: "ns/op"}, []float64{13.3e9}, "0 5 s 10 s"},
		{axis{unit: "MB/s"}, []float64{8967}, "0 2,000 4,000 6,000 8,000"},
		{axis{unit: "peak-bytes"}, []float64{50 << 20}, "0 10 MiB 20 MiB 30 MiB 40 MiB 50 MiB"},
		{axis{unit: "rows", log: true}, []float64{1e3, 1e7}, "1,000 10,000 100,000 1 million 10 million"},
		{axis{unit: "B/op", log: true}, []float64{66e3, 9e6}, "10 kB 100 kB 1 MB"},
		{axis{unit: "B/op", log: true}, []float64{0, 5, 2048}, "0 10 B 100 B 1 kB"},
		{axis{unit: "allocs/op", log: true}, []float64{0, 1, 2}, "0 1 2"},
		{axis{unit: "allocs/op", log: true}, []float64{30, 80}, "10 20 50"},
	} {
		c.axis.fit(c.values)
		var labels []string
		for _, tick := range c.axis.ticks() {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("the ticks of %v %s are %s, want %s", c.values, c.axis.unit, got, c.want)
		}
	}
}

func TestRoundUp(t *testing.T) {
	for _, c := range []struct {
		axis axis
		top  float64
		want float64
	}{
		{axis{unit: "ns/op"}, 13.3e9, 15e9},
		{axis{unit: "B/op", log: true}, 79.3e6, 100e6},
		{axis{unit: "B/op", log: true}, 100e6, 100e6},
	} {
		c.axis.fit([]float64{c.top})
		if c.axis.roundUp(); c.axis.max != c.want {
			t.Errorf("an axis for %v %s ends at %v, want %v", c.top, c.axis.unit, c.axis.max, c.want)
		}
	}
}

func TestSpread(t *testing.T) {
	const d = endDistance
	for _, c := range []struct{ heights, want []vg.Length }{
		{[]vg.Length{100, 50}, []vg.Length{100, 50}},
		{[]vg.Length{100, 100, 100, 20}, []vg.Length{100 + d, 100, 100 - d, 20}},
		{[]vg.Length{200, 190}, []vg.Length{200, 200 - d}},
		{[]vg.Length{12, 11, 10}, []vg.Length{5 + 2*d, 5 + d, 5}},
	} {
		got := slices.Clone(c.heights)
		if spread(got, 5, 200); !slices.Equal(got, c.want) {
			t.Errorf("%v are spread to %v, want %v", c.heights, got, c.want)
		}
	}
}

// TestZeros fits axes to values that are all zero.
func TestZeros(t *testing.T) {
	for _, log := range []bool{false, true} {
		a := axis{unit: "allocs/op", log: log}
		a.fit([]float64{0, 0})
		a.roundUp()
		if n := len(a.ticks()); n < 2 || n > 20 {
			t.Errorf("log %v: %d ticks, up to %v", log, n, a.max)
		}
	}
}
