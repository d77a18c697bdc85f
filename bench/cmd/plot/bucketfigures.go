package main

import (
	"fmt"

	"culvert/bench/internal/quantity"
)

// bucketLabels say what each variant is, by the operation.
var bucketLabels = map[string]map[string]string{
	"export": {
		"culvert": "culvert export", "culvert-file": "culvert export to a file",
		"aws": "psql | zstd | age | aws s3 cp", "rclone": "psql | zstd | age | rclone rcat",
	},
	"pull": {"culvert": "culvert pull", "aws": "aws s3 cp", "rclone": "rclone copyto", "s5cmd": "s5cmd cp"},
	"cat": {
		"culvert": "culvert cat", "aws": "aws s3 cp | age | zstd", "rclone": "rclone cat | age | zstd",
		"s5cmd": "s5cmd cat | age | zstd",
	},
	"tail": {"culvert": "culvert mount --decrypt", "aws": "aws s3 cp | age | zstd"},
}

// bucketTime returns the figure of an operation with buckets, which compares each store with a peer. The title has a
// verb for the first store.
func bucketTime(op, peer, title string) func(*recording) chart {
	return func(r *recording) chart {
		r = r.where("op", op)
		c := comparison{unit: "ns/op", peer: peer, labels: bucketLabels[op]}
		var groups []group
		found := ""
		for _, store := range r.distinct("store") {
			some := r.where("store", store)
			groups = append(groups, group{store, c.bars(some)})
			if ratio, ok := c.speedUp(some, "culvert"); ok && found == "" {
				found = times(ratio)
			}
		}
		if found == "" {
			return nil
		}
		return &bars{
			heading{fmt.Sprintf(title, found), measured(r, "a store on the same machine")},
			fit(axis{label: "time; less is better", unit: c.unit}, groups), groups,
		}
	}
}

// bucketMemory draws the memory that it takes to write an object and to read it, over its size.
func bucketMemory(r *recording) chart {
	l := &lines{
		x: axis{label: "MiB in the object", unit: "rows", log: true},
		y: axis{label: "peak memory", unit: "peak-bytes"},
	}
	l.addOver("MiB", "culvert encrypt -o s3://…", ours, r.where("op", "encrypt"), "peak-bytes")
	l.addOver("MiB", "culvert cat s3://…", ours, r.where("op", "decrypt"), "peak-bytes")
	if !l.isDrawable() {
		return nil
	}
	points := l.series[0].points
	few, many := points[0], points[len(points)-1]
	l.heading = heading{
		fmt.Sprintf("%s the object, %s the memory to write it: %s for %s", times(many.x/few.x),
			times(many.y.Median/few.y.Median), quantity.Format(many.y.Median, "peak-bytes"),
			quantity.Format(many.x*(1<<20), "peak-bytes")),
		measured(r, "a store on the same machine"),
	}
	return l
}
