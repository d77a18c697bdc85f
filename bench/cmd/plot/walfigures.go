package main

import (
	"fmt"

	"culvert/bench/internal/quantity"
)

// studyLabels are the variants of the study of 2017 and what stands beside them.
var studyLabels = comparison{labels: map[string]string{
	"buffered": "bufio.Writer", "unbuffered": "line by line", "onewrite": "one write", "culvert": "culvert/wal",
}}

var syncTitles = map[string]string{"each": "Synced", "none": "Not synced"}

func entriesAt(group string) string {
	if group == "1" {
		return "1 entry an append"
	}
	return group + " entries an append"
}

// walThroughput draws the entries in a second of the logs of the study.
func walThroughput(sync string) func(*recording) chart {
	return func(r *recording) chart {
		r = r.where("sync", sync)
		title, ok := studyFinding(r, syncTitles[sync])
		if !ok {
			return nil
		}
		var groups []group
		for _, size := range r.distinct("group") {
			some := r.where("group", size)
			g := group{title: entriesAt(size)}
			for _, impl := range some.distinct("impl") {
				var rates []float64
				for _, ns := range some.where("impl", impl).values("ns/op") {
					rates = append(rates, 1e9/ns)
				}
				g.bars = append(g.bars, bar{
					label: studyLabels.label(impl), role: roleOf(impl), value: quantity.QuartilesOf(rates),
				})
			}
			groups = append(groups, g)
		}
		return &bars{
			heading{title, measured(r, "entries of 128 bytes")},
			fit(axis{label: "entries per second; more is better", unit: "allocs/op", log: true}, groups), groups,
		}
	}
}

// studyFinding compares writing line by line with a buffer, at both ends.
func studyFinding(r *recording, how string) (string, bool) {
	unbuffered := comparison{unit: "ns/op", peer: "buffered"}
	small, ok := unbuffered.speedUp(r.where("group", "1"), "unbuffered")
	large, all := unbuffered.speedUp(r.where("group", "100"), "unbuffered")
	return fmt.Sprintf("%s, unbuffered is %s as fast for 1 entry, %s for 100", how, times(small), times(large)),
		ok && all
}

// walLatency draws how long appends take, as the study did.
func walLatency(sync string) func(*recording) chart {
	return func(r *recording) chart {
		r = r.where("sync", sync)
		chart := &boxes{axis: axis{
			label: "box 25–75 %, whiskers 5–95 %, diamonds 99 %, 99.9 % and the longest",
			unit:  "ns/op", log: true,
		}}
		for _, size := range r.distinct("group") {
			some := r.where("group", size)
			g := boxGroup{title: entriesAt(size)}
			for _, impl := range some.distinct("impl") {
				if b, ok := boxOf(some.where("impl", impl), studyLabels.label(impl), roleOf(impl)); ok {
					g.boxes = append(g.boxes, b)
				}
			}
			chart.groups = append(chart.groups, g)
		}
		if len(chart.groups) == 0 || len(chart.groups[0].boxes) == 0 {
			return nil
		}
		first := chart.groups[0].boxes
		chart.heading = heading{
			fmt.Sprintf("%s, an append of one entry takes %s, in culvert/wal %s", syncTitles[sync],
				quantity.Format(first[0].median, "ns/op"), quantity.Format(first[len(first)-1].median, "ns/op")),
			measured(r, "time of an append"),
		}
		return chart.fit()
	}
}

// walWriters draws synced appends by one goroutine and by many.
func walWriters(r *recording) chart {
	r = r.where("sync", "each")
	c := comparison{unit: "ns/op", peer: "pebble", labels: map[string]string{
		"floor": "disk's floor", "culvert": "culvert/wal", "tidwall": "tidwall/wal", "pebble": "pebble LogData",
	}}
	var groups []group
	for _, writers := range r.distinct("writers") {
		some := r.where("writers", writers, "group", "")
		title := "1 writer"
		if writers != "1" {
			title = writers + " writers"
		}
		groups = append(groups, group{title, c.bars(some)})
	}
	ratio, ok := c.speedUp(r.where("writers", "64"), "culvert")
	if !ok {
		return nil
	}
	return &bars{
		heading{"Durable entries from 64 goroutines: " + times(ratio) + " as fast as pebble", measured(r, "128 bytes")},
		fit(axis{label: "time of an entry; less is better", unit: "ns/op", log: true}, groups), groups,
	}
}

// walPercentiles draws how long the slowest of so many appends takes: the curve of HdrHistogram.
func walPercentiles(r *recording) chart {
	r = r.where("sync", "each", "writers", "16")
	chart := &lines{
		x: axis{label: "1 in so many appends takes longer", unit: "rows", log: true, min: 2, max: 10_000},
		y: axis{label: "time of a synced append by one of 16 goroutines", unit: "ns/op", log: true},
	}
	var all []float64
	for _, impl := range r.distinct("impl") {
		s := series{label: map[string]string{"culvert": "culvert/wal"}[impl], role: roleOf(impl)}
		if s.label == "" {
			s.label = impl
		}
		for _, at := range []struct {
			unit string
			x    float64
		}{
			{"p50-ns", 2},
			{"p75-ns", 4},
			{"p90-ns", 10},
			{"p95-ns", 20},
			{"p99-ns", 100},
			{"p999-ns", 1000},
			{"p9999-ns", 10_000},
		} {
			values := r.where("impl", impl).values(at.unit)
			if len(values) == 0 {
				continue
			}
			q := quantity.QuartilesOf(values)
			s.points = append(s.points, point{at.x, q})
			all = append(all, q.P25, q.P75)
		}
		chart.series = append(chart.series, s)
	}
	ratio, ok := comparison{unit: "p99-ns", peer: "pebble"}.speedUp(r, "culvert")
	if !ok {
		return nil
	}
	chart.heading = heading{
		"16 goroutines, synced: the slowest 1 of 100 is " + times(ratio) + " as fast as pebble's",
		measured(r, "entries of 128 bytes"),
	}
	chart.y.fit(all)
	return chart
}
