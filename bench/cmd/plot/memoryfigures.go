package main

import (
	"fmt"

	"culvert/bench/internal/quantity"
)

// memoryOfExport shows that many rows take no more than few.
func memoryOfExport(r *recording) chart {
	l := memoryLines("culvert export")
	for _, format := range r.distinct("format") {
		l.add(comparison{}.label(format), ours, r.where("format", format, "jobs", ""), "peak-bytes")
	}
	l.addJobs(r)
	return l.ofMemory(r, "PostgreSQL, zstd, encrypted")
}

// memoryOfLoad shows the same of rows that are loaded.
func memoryOfLoad(r *recording) chart {
	l := memoryLines("culvert load")
	l.addJobs(r)
	return l.ofMemory(r, "into PostgreSQL, zstd, encrypted")
}

func memoryLines(program string) *lines {
	return &lines{
		x: axis{label: "rows of the table", unit: "rows", log: true},
		y: axis{label: "peak memory of " + program, unit: "peak-bytes"},
	}
}

// addJobs has a line for each number of connections.
func (l *lines) addJobs(r *recording) {
	for _, jobs := range r.distinct("jobs") {
		l.add(jobs+" connections", ours, r.where("jobs", jobs), "peak-bytes")
	}
}

// ofMemory compares the ends of the first line in the title. It returns nil if there is nothing to compare.
func (l *lines) ofMemory(r *recording, what string) chart {
	if !l.isDrawable() {
		return nil
	}
	points := l.series[0].points
	few, many := points[0], points[len(points)-1]
	l.heading = heading{
		fmt.Sprintf("%s the rows, %s the memory: %s for %s rows", times(many.x/few.x),
			times(many.y.Median/few.y.Median), quantity.Format(many.y.Median, "peak-bytes"), l.x.brief(many.x)),
		measured(r, what),
	}
	return l
}
