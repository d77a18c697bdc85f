package main

import (
	"fmt"

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
	for _, w := range writeSizes {
		some := r.where("conns", "1", "write", w.size)
		if _, ok := c.speedUp(some, "culvert"); ok {
			groups = append(groups, group{w.title, c.bars(some)})
		}
	}
	large := r.where("conns", "1", "write", writeSizes[0].size)
	ratio, ok := c.speedUp(large, "culvert")
	if !ok {
		return nil
	}
	return &bars{
		heading{
			fmt.Sprintf("An encrypted connection: %s as fast as crypto/tls", times(ratio)),
			measured(r, "loopback TCP, one connection"),
		},
		fit(axis{label: "MB per second; more is better", unit: c.unit}, groups), groups,
	}
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
		for i, v := range values {
			sum[i] += v
		}
		stacked = append(stacked, bar{label: layer.label, role: limit, value: quantity.QuartilesOf(sum)})
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
