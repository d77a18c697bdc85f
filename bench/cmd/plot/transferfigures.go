package main

import (
	"fmt"
	"strings"

	"culvert/bench/internal/quantity"
)

const speedLabel = "MB per second; more is better"

// fileserviceSpeed draws the speed of fileservice over several kinds of connections.
func fileserviceSpeed(r *recording) chart {
	c := comparison{unit: "MB/s", peer: "tls", labels: map[string]string{
		"plain": "not encrypted", "tls": "over crypto/tls", "culvert": "over secureconn",
		"framed": "minimal protocol over secureconn",
	}}
	var groups []group
	found := ""
	for _, conns := range r.distinct("conns") {
		some := r.where("conns", conns)
		title := conns + " connections"
		if conns == "1" {
			title = "1 connection"
		}
		groups = append(groups, group{title, c.bars(some)})
		if ratio, ok := c.speedUp(some, "culvert"); ok {
			found = times(ratio)
		}
	}
	if found == "" {
		return nil
	}
	return &bars{
		heading{
			"Files by fileservice, encrypted: " + found + " as fast as over crypto/tls",
			measured(r, "page cache to memory"),
		},
		fit(axis{label: speedLabel, unit: c.unit}, groups), groups,
	}
}

// strategies are the ways to fetch a file: calls for equal parts of it, and calls for a few blocks.
var strategies = []struct {
	keys  []string
	label string
	role  role
}{
	{[]string{"strategy", "push", "calls", "1"}, "1 call for all blocks", peer},
	{[]string{"strategy", "push", "calls", "4"}, "4 calls for a quarter", peer},
	{[]string{"strategy", "push", "calls", "8"}, "8 calls for an eighth", peer},
	{[]string{"strategy", "ranges", "blocks", "4", "calls", "4"}, "4 calls for 4 blocks", ours},
	{[]string{"strategy", "ranges", "blocks", "4", "calls", "8"}, "8 calls for 4 blocks", ours},
	{[]string{"strategy", "ranges", "blocks", "16", "calls", "4"}, "4 calls for 16 blocks", ours},
	{[]string{"strategy", "ranges", "blocks", "16", "calls", "8"}, "8 calls for 16 blocks", ours},
}

// fetchSpeed draws them. The fastest of each kind makes the title.
func fetchSpeed(r *recording) chart {
	const unit = "MB/s"
	var shown []bar
	best := map[role]float64{}
	for _, s := range strategies {
		values := r.where(s.keys...).values(unit)
		if len(values) == 0 {
			continue
		}
		q := quantity.QuartilesOf(values)
		best[s.role] = max(best[s.role], q.Median)
		shown = append(shown, bar{label: s.label, role: s.role, value: q})
	}
	if len(best) < 2 {
		return nil
	}
	groups := []group{{"", shown}}
	return &bars{
		heading{
			"Calls for a few blocks: " + times(best[ours]/best[peer]) + " as fast as for equal parts",
			measured(r, "over secureconn, verified"),
		},
		fit(axis{label: speedLabel, unit: unit}, groups), groups,
	}
}

var pullLabels = map[string]string{
	"culvert": "culvert pull", "cp-sync": "cp -r, sync", "scp": "scp", "rsync": "rsync -W over ssh",
}

// pullOrder is that of the bars: the limit of the machine, the peers, and ours.
var pullOrder = []string{"cp-sync", "rsync", "scp", "culvert"}

// pullSpeed draws one large file.
func pullSpeed(r *recording) chart {
	r = r.where("path", "loopback", "files", "1")
	c := comparison{unit: "MB/s", peer: "scp", labels: pullLabels, order: pullOrder}
	return oneGroup(r, c, "A large file, verified and on the disk: %s as fast as scp", "loopback, page cache")
}

// pullFiles draws the time of many small ones.
func pullFiles(r *recording) chart {
	c := comparison{unit: "ns/op", peer: "scp", labels: pullLabels, order: pullOrder}
	r = r.where("path", "loopback")
	for _, files := range r.distinct("files") {
		if n, err := count(files); err == nil && n > 1 {
			small := axis{unit: "rows"}.brief(n) + " small files"
			title := small + ", each of them on the disk: %s as fast as scp"
			return oneGroup(r.where("files", files), c, title, "loopback")
		}
	}
	return nil
}

// pullPaths draws what round trips leave of the speed.
func pullPaths(r *recording) chart {
	c := comparison{unit: "MB/s", peer: "scp", labels: pullLabels, order: pullOrder}
	var groups []group
	var found []string
	for _, path := range r.distinct("path") {
		delay, lost, isLossy := strings.Cut(path, "-")
		delay, isLong := strings.CutSuffix(delay, "ms")
		label := "round trip of " + delay + " ms"
		if isLossy {
			label += ", " + lost + " lost"
		}
		some := r.where("path", path)
		if ratio, ok := c.speedUp(some, "culvert"); ok && isLong {
			groups = append(groups, group{label, c.bars(some)})
			found = append(found, times(ratio))
		}
	}
	if len(groups) == 0 {
		return nil
	}
	return &bars{
		heading{"Over long paths: " + strings.Join(found, ", ") + " as fast as scp", measured(r, "")},
		fit(axis{label: speedLabel, unit: c.unit}, groups), groups,
	}
}

// pullMemory shows that a large file takes no more than a small one.
func pullMemory(r *recording) chart {
	return memoryOverSize(r, "culvert pull", "peak-bytes")
}

// memoryOverSize draws the memory of a client, and of its server, over the size of the file.
func memoryOverSize(r *recording, client, unit string) chart {
	l := &lines{
		x: axis{label: "MiB in the file", unit: "rows", log: true},
		y: axis{label: "peak memory of each process", unit: "peak-bytes"},
	}
	l.addOver("MiB", client, ours, r, unit)
	l.addOver("MiB", "culvert serve", ours, r, "server-peak-bytes")
	if !l.isDrawable() {
		return nil
	}
	points := l.series[0].points
	few, many := points[0], points[len(points)-1]
	l.heading = heading{
		fmt.Sprintf("%s the bytes, %s the memory: %s takes %s for %s", times(many.x/few.x),
			times(many.y.Median/few.y.Median), client, quantity.Format(many.y.Median, "peak-bytes"),
			quantity.Format(many.x*(1<<20), "peak-bytes")),
		measured(r, "loopback"),
	}
	return l
}
