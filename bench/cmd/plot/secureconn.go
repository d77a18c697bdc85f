package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"culvert/bench/internal/quantity"
)

var linkLabels = map[string]string{
	"tcp": "TCP, not encrypted", "tcp-queue": "TCP, bounded queue", "tls": "crypto/tls", "culvert": "secureconn",
	"pipe": "net.Pipe, not encrypted", "before": "before, with copies", "after": "after, without",
}

// writeSizes are those that the figure of streams shows.
var writeSizes = []struct{ size, title string }{
	{"1048576", "writes of 1 MiB"}, {"65536", "writes of 64 KiB"}, {"16384", "writes of 16 KiB"},
}

// secureconnSpeed draws the streams of one connection.
func secureconnSpeed(r *recording) chart {
	c := comparison{unit: "MB/s", peer: "tls", labels: linkLabels}
	var groups []group
	var found []string
	for _, w := range writeSizes {
		some := r.where("conns", "1", "write", w.size)
		if ratio, ok := c.speedUp(some, "culvert"); ok {
			groups = append(groups, group{w.title, c.bars(some)})
			found = append(found, times(ratio))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &bars{
		heading{
			"An encrypted connection: " + strings.Join(found, ", ") + " as fast as crypto/tls",
			measured(r, "loopback TCP, one connection"),
		},
		fit(axis{label: "MB per second; more is better", unit: c.unit}, groups), groups,
	}
}

// secureconnWrites draws the streams of one connection over the size of what is written at once.
func secureconnWrites(r *recording) chart {
	r = r.where("conns", "1")
	c := comparison{unit: "MB/s", peer: "tls", labels: linkLabels}
	l := &lines{
		x: axis{label: "bytes in one Write", unit: "rows", log: true},
		y: axis{label: "MB per second; more is better", unit: c.unit},
	}
	for _, impl := range []string{"tcp", "tls", "culvert"} {
		l.addOver("write", c.label(impl), roleOf(impl), r.where("impl", impl), c.unit)
	}
	small, ok := c.speedUp(r.where("write", "4096"), "culvert")
	large, also := c.speedUp(r.where("write", "1048576"), "culvert")
	if !l.isDrawable() || !ok || !also {
		return nil
	}
	for _, s := range l.series {
		slices.SortFunc(s.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	}
	l.heading = heading{
		fmt.Sprintf("Beside crypto/tls: %s with writes of 1 MiB, %s with 4 KiB", times(large), times(small)),
		measured(r, "loopback TCP, one connection"),
	}
	return l
}

// secureconnPipe draws what the article on SecureConn compares.
func secureconnPipe(r *recording) chart {
	c := comparison{unit: "MB/s", peer: "after", labels: linkLabels}
	var groups []group
	var found string
	for _, w := range []struct{ size, title string }{{"1048576", "1 MiB"}, {"4194304", "4 MiB"}} {
		var shown []bar
		for _, impl := range []string{"before", "after", "culvert"} {
			shown = append(shown, c.bars(r.where("write", w.size, "impl", impl))...)
		}
		if ratio, ok := c.speedUp(r.where("write", w.size), "culvert"); ok {
			found = times(ratio)
			groups = append(groups, group{"blocks of " + w.title, shown})
		}
	}
	if len(groups) == 0 {
		return nil
	}
	return &bars{
		heading{"A secure connection over net.Pipe: " + found + " as fast without copies", measured(r, "")},
		fit(axis{label: "MB per second; more is better", unit: c.unit}, groups), groups,
	}
}

// secureconnLayers stacks what the layers of a stream take, each on top of those before it, and ends with the whole.
func secureconnLayers(r *recording) chart {
	const unit = "cpu-ns/op"
	var stacked []bar
	var sum []float64
	for _, layer := range []struct{ impl, label string }{{"tcp", "TCP"}, {"seal", "+ sealing"}, {"open", "+ opening"}} {
		values := r.where("impl", layer.impl).values(unit)
		if len(values) == 0 || sum != nil && len(values) != len(sum) {
			return nil
		}
		if sum == nil {
			sum = make([]float64, len(values))
		}
		from := quantity.QuartilesOf(sum).Median
		for i, v := range values {
			sum[i] += v
		}
		stacked = append(stacked, bar{label: layer.label, role: peer, from: from, value: quantity.QuartilesOf(sum)})
	}
	whole := r.where("impl", "culvert").values(unit)
	if len(whole) != len(sum) {
		return nil
	}
	stacked = append(stacked, bar{label: "secureconn", role: ours, value: quantity.QuartilesOf(whole)})
	groups := []group{{"", stacked}}
	share := quantity.QuartilesOf(quantity.Ratios(whole, sum)).Median
	return &bars{
		heading{
			"An encrypted connection takes " + times(share) + " the CPU time of its layers alone",
			measured(r, "2 GiB over loopback TCP, both ends"),
		},
		fit(axis{label: "CPU time, each on top of those before; less is better", unit: unit}, groups), groups,
	}
}
