package main

import (
	"fmt"
	"path/filepath"
)

// prepareMemory compares exports of few and of many rows: those of a table, and the same a hundred times over. CSV is
// printed by the server, JSON Lines by culvert.
func prepareMemory(s *session) ([]benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	few, times := s.size(100_000, 1_000), 100
	if err := e.fillTable(e.env, "orders", few); err != nil {
		return nil, err
	}
	var benchmarks []benchmark
	for _, format := range []string{"csv", "jsonl"} {
		fewKey, manyKey := fmt.Sprintf("rows=%d/impl=culvert", few), fmt.Sprintf("rows=%d/impl=culvert", few*times)
		benchmarks = append(benchmarks, benchmark{
			name: "Memory/source=postgres/format=" + format + "/compression=zstd",
			variants: []variant{
				{fewKey, func() (sample, error) { return e.exportRows(1, format) }},
				{manyKey, func() (sample, error) { return e.exportRows(times, format) }},
			},
			goals: []goal{
				{variant: manyKey, unit: "peak-bytes", max: 96 << 20},
				{variant: manyKey, peer: fewKey, unit: "peak-bytes", min: 0.9, max: 1.1},
			},
		})
	}
	return benchmarks, nil
}

func (e *exporter) exportRows(times int, format string) (sample, error) {
	file := filepath.Join(e.dir, "export")
	query := fmt.Sprintf("SELECT orders.* FROM generate_series(1, %d) CROSS JOIN orders", times)
	got, err := e.pipeline("", e.command(e.culvert, "export", "postgres:", "-q", query, "-r", e.recipient,
		"-f", format, "-o", file))
	if err != nil {
		return nil, err
	}
	return got, settle(file)
}
