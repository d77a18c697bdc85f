package main

import (
	"fmt"
	"path/filepath"
)

// prepareMemory compares exports of few and of many rows, which the server makes up on the way. CSV is printed by the
// server, JSON Lines by culvert.
func prepareMemory(s *session) ([]benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	few, many := s.size(100_000, 1_000), s.size(10_000_000, 100_000)
	var benchmarks []benchmark
	for _, format := range []string{"csv", "jsonl"} {
		fewKey, manyKey := fmt.Sprintf("rows=%d/impl=culvert", few), fmt.Sprintf("rows=%d/impl=culvert", many)
		benchmarks = append(benchmarks, benchmark{
			name: "Memory/source=postgres/format=" + format + "/compression=zstd",
			variants: []variant{
				{fewKey, func() (sample, error) { return e.exportRows(few, format) }},
				{manyKey, func() (sample, error) { return e.exportRows(many, format) }},
			},
			goals: []goal{
				{variant: manyKey, unit: "peak-bytes", max: 96 << 20},
				{variant: manyKey, peer: fewKey, unit: "peak-bytes", min: 0.9, max: 1.1},
			},
		})
	}
	return benchmarks, nil
}

func (e *exporter) exportRows(n int, format string) (sample, error) {
	file := filepath.Join(e.dir, "export")
	got, err := e.pipeline("", e.command(e.culvert, "export", "postgres:", "-q", postgresQuery(n), "-r", e.recipient,
		"-f", format, "-o", file))
	if err != nil {
		return nil, err
	}
	return got, settle(file)
}
