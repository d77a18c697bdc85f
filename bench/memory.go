package main

import (
	"fmt"
	"path/filepath"
	"strconv"
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
	query := func(times int) string {
		return fmt.Sprintf("SELECT orders.* FROM generate_series(1, %d) CROSS JOIN orders", times)
	}
	var benchmarks []benchmark
	for _, format := range []string{"csv", "jsonl"} {
		fewKey, manyKey := fmt.Sprintf("rows=%d/impl=culvert", few), fmt.Sprintf("rows=%d/impl=culvert", few*times)
		benchmarks = append(benchmarks, benchmark{
			name: "Memory/source=postgres/format=" + format + "/compression=zstd",
			variants: []variant{
				{fewKey, func() (sample, error) { return e.export("-q", query(1), "-f", format) }},
				{manyKey, func() (sample, error) { return e.export("-q", query(times), "-f", format) }},
			},
			goals: []goal{
				{variant: manyKey, unit: "peak-bytes", max: 96 << 20},
				{variant: manyKey, peer: fewKey, unit: "peak-bytes", min: 0.9, max: 1.1},
			},
		})
	}
	parallel, err := e.parallelMemory()
	return append(benchmarks, parallel), err
}

// itemsSQL makes rows that are quick to make: 46 bytes of CSV on average.
const itemsSQL = `CREATE UNLOGGED TABLE %s AS SELECT i AS id, i %% 1000 AS customer, 'item ' || i %% 977 AS title,
	timestamptz '2020-01-01' + i * interval '1 s' AS created FROM generate_series(1, %d) AS i`

// parallelMemory compares exports of a small and of a large table by several connections.
func (e *exporter) parallelMemory() (benchmark, error) {
	b := benchmark{
		name:   fmt.Sprintf("Memory/source=postgres/format=csv/compression=zstd/jobs=%d", parallelJobs),
		rounds: 3, // the rows are many
	}
	few := e.size(3_000_000, 200_000)
	for _, rows := range []int{few, 10 * few} {
		table := fmt.Sprintf("items_%d", rows)
		if err := e.run(e.command("psql", "-qc", fmt.Sprintf(itemsSQL, table, rows))); err != nil {
			return b, err
		}
		b.variants = append(b.variants, variant{fmt.Sprintf("rows=%d/impl=culvert", rows), func() (sample, error) {
			return e.export(table, "-j", strconv.Itoa(parallelJobs))
		}})
	}
	fewKey, manyKey := b.variants[0].key, b.variants[1].key
	b.goals = []goal{
		{variant: fewKey, unit: "peak-bytes", max: 96 << 20},
		{variant: manyKey, unit: "peak-bytes", max: 96 << 20},
		{variant: manyKey, peer: fewKey, unit: "peak-bytes", min: 0.9, max: 1.1},
	}
	return b, nil
}

// export exports into an encrypted file, and removes it.
func (e *exporter) export(args ...string) (sample, error) {
	file := filepath.Join(e.dir, "export")
	args = append([]string{"export", "postgres:", "-r", e.recipient, "-o", file}, args...)
	got, err := e.pipeline("", e.command(e.culvert, args...))
	if err != nil {
		return nil, err
	}
	return got, settle(file)
}
