package exports

import (
	"fmt"
	"path/filepath"
	"strconv"

	"culvert/bench/internal/harness"
)

// itemsSQL makes rows that are quick to make: 46 bytes of CSV on average.
const itemsSQL = `CREATE UNLOGGED TABLE %s AS SELECT i AS id, i %% 1000 AS customer, 'item ' || i %% 977 AS title,
	timestamptz '2020-01-01' + i * interval '1 s' AS created FROM generate_series(1, %d) AS i`

// PrepareMemory compares the memory of exports of a small and of a large table by several connections.
func PrepareMemory(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	const name = "Memory/source=postgres/format=csv/compression=zstd"
	return e.flat(name, s.Size(3_000_000, 40_000), func(table string) (func() (harness.Sample, error), error) {
		return func() (harness.Sample, error) {
			file := e.itemsFile(table)
			got, err := e.Pipeline("", e.command(e.culvert, "export", "postgres:", table, "-r", e.recipient,
				"-j", strconv.Itoa(parallelJobs), "-o", file))
			if err != nil {
				return nil, err
			}
			return got, harness.Settle(file)
		}, nil
	})
}

// PrepareLoadMemory compares the memory of loads of a small and of a large table by several connections.
func PrepareLoadMemory(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s, durable)
	if err != nil {
		return nil, err
	}
	return e.flat("LoadMemory/to=postgres", s.Size(3_000_000, 30_000), func(
		table string,
	) (func() (harness.Sample, error), error) {
		file := e.itemsFile(table)
		export := e.command(e.culvert, "export", "postgres:", table, "-r", e.recipient, "-o", file)
		return func() (harness.Sample, error) {
			if err := s.Run(e.command("psql", "-qc", "TRUNCATE "+table, "-c", "CHECKPOINT")); err != nil {
				return nil, err
			}
			return e.Pipeline("", e.command(e.culvert, "load", "-i", e.identity, "--jobs",
				strconv.Itoa(parallelJobs), file, "postgres:", table))
		}, s.Run(export)
	})
}

func (e *exporter) itemsFile(table string) string { return filepath.Join(e.Dir, table+".csv.zst.age") }

// flat compares the memory of work on a table of few rows, and on one of ten times as many. prepare returns the work on
// a table, which exists.
func (e *exporter) flat(
	name string, few int, prepare func(table string) (func() (harness.Sample, error), error),
) ([]harness.Benchmark, error) {
	b := harness.Benchmark{
		Name:   fmt.Sprintf("%s/jobs=%d", name, parallelJobs),
		Rounds: 3, // the rows are many
	}
	for _, rows := range []int{few, 10 * few} {
		table := fmt.Sprintf("items_%d", rows)
		if err := e.Run(e.command("psql", "-qc", fmt.Sprintf(itemsSQL, table, rows))); err != nil {
			return nil, err
		}
		work, err := prepare(table)
		if err != nil {
			return nil, err
		}
		b.Variants = append(b.Variants, harness.Variant{Key: fmt.Sprintf("rows=%d/impl=culvert", rows), Run: work})
	}
	fewKey, manyKey := b.Variants[0].Key, b.Variants[1].Key
	b.Goals = []harness.Goal{
		{Variant: fewKey, Unit: "peak-bytes", Max: 96 << 20},
		{Variant: manyKey, Unit: "peak-bytes", Max: 96 << 20},
		{Variant: manyKey, Peer: fewKey, Unit: "peak-bytes", Min: 0.9, Max: 1.1},
	}
	return []harness.Benchmark{b}, nil
}
