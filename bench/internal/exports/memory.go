package exports

import (
	"fmt"
	"path/filepath"
	"strconv"

	"culvert/bench/internal/harness"
)

// PrepareMemory compares the memory of exports of a table and of a hundred times its rows. The server prints CSV,
// culvert prints JSON Lines.
func PrepareMemory(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	few, times := s.Size(100_000, 1_000), 100
	if err := e.FillTable(e.env, "orders", few); err != nil {
		return nil, err
	}
	query := func(times int) string {
		return fmt.Sprintf("SELECT orders.* FROM generate_series(1, %d) CROSS JOIN orders", times)
	}
	var benchmarks []harness.Benchmark
	for _, format := range []string{"csv", "jsonl"} {
		fewKey, manyKey := fmt.Sprintf("rows=%d/impl=culvert", few), fmt.Sprintf("rows=%d/impl=culvert", few*times)
		benchmarks = append(benchmarks, harness.Benchmark{
			Name: "Memory/source=postgres/format=" + format + "/compression=zstd",
			Variants: []harness.Variant{
				{Key: fewKey, Run: func() (harness.Sample, error) { return e.export("-q", query(1), "-f", format) }},
				{Key: manyKey, Run: func() (harness.Sample, error) {
					return e.export("-q", query(times), "-f", format)
				}},
			},
			Goals: []harness.Goal{
				{Variant: manyKey, Unit: "peak-bytes", Max: 96 << 20},
				{Variant: manyKey, Peer: fewKey, Unit: "peak-bytes", Min: 0.9, Max: 1.1},
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
func (e *exporter) parallelMemory() (harness.Benchmark, error) {
	b := harness.Benchmark{
		Name:   fmt.Sprintf("Memory/source=postgres/format=csv/compression=zstd/jobs=%d", parallelJobs),
		Rounds: 3, // the rows are many
	}
	few := e.Size(3_000_000, 40_000)
	for _, rows := range []int{few, 10 * few} {
		table := fmt.Sprintf("items_%d", rows)
		if err := e.Run(e.command("psql", "-qc", fmt.Sprintf(itemsSQL, table, rows))); err != nil {
			return b, err
		}
		b.Variants = append(b.Variants, harness.Variant{
			Key: fmt.Sprintf("rows=%d/impl=culvert", rows),
			Run: func() (harness.Sample, error) {
				return e.export(table, "-j", strconv.Itoa(parallelJobs))
			},
		})
	}
	fewKey, manyKey := b.Variants[0].Key, b.Variants[1].Key
	b.Goals = []harness.Goal{
		{Variant: fewKey, Unit: "peak-bytes", Max: 96 << 20},
		{Variant: manyKey, Unit: "peak-bytes", Max: 96 << 20},
		{Variant: manyKey, Peer: fewKey, Unit: "peak-bytes", Min: 0.9, Max: 1.1},
	}
	return b, nil
}

// export exports into an encrypted file, and removes it.
func (e *exporter) export(args ...string) (harness.Sample, error) {
	file := filepath.Join(e.Dir, "export")
	args = append([]string{"export", "postgres:", "-r", e.recipient, "-o", file}, args...)
	got, err := e.Pipeline("", e.command(e.culvert, args...))
	if err != nil {
		return nil, err
	}
	return got, harness.Settle(file)
}
