package exports

import (
	"fmt"
	"os"
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
	return e.flat(name, s.Size(3_000_000, 40_000), func(table, file string) (harness.Sample, error) {
		got, err := e.exportItems(table, file)
		if err != nil {
			return nil, err
		}
		return got, harness.Settle(file)
	})
}

// PrepareLoadMemory compares the memory of loads of a small and of a large table by several connections.
func PrepareLoadMemory(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s, durable)
	if err != nil {
		return nil, err
	}
	few := s.Size(3_000_000, 30_000)
	return e.flat("LoadMemory/to=postgres", few, func(table, file string) (harness.Sample, error) {
		if _, err := os.Stat(file); err != nil {
			if _, err := e.exportItems(table, file); err != nil {
				return nil, err
			}
		}
		if err := s.Run(e.command("psql", "-qc", "TRUNCATE "+table, "-c", "CHECKPOINT")); err != nil {
			return nil, err
		}
		return e.Pipeline("", e.command(e.culvert, "load", "-i", e.identity, "--jobs", strconv.Itoa(parallelJobs), file,
			"postgres:", table))
	})
}

// exportItems exports a table of items to a file.
func (e *exporter) exportItems(table, file string) (harness.Sample, error) {
	return e.Pipeline("", e.command(e.culvert, "export", "postgres:", table, "-r", e.recipient,
		"-j", strconv.Itoa(parallelJobs), "-o", file))
}

// flat compares the memory of work on a table of few rows, and on one of ten times as many. Each has a file.
func (e *exporter) flat(
	name string, few int, work func(table, file string) (harness.Sample, error),
) ([]harness.Benchmark, error) {
	sizes := [2]int64{int64(few), 10 * int64(few)}
	table := func(rows int64) string { return fmt.Sprintf("items_%d", rows) }
	for _, rows := range sizes {
		if err := e.Run(e.command("psql", "-qc", fmt.Sprintf(itemsSQL, table(rows), rows))); err != nil {
			return nil, err
		}
	}
	return []harness.Benchmark{harness.Flat(fmt.Sprintf("%s/jobs=%d", name, parallelJobs), "rows", sizes, 96<<20,
		[]string{"peak-bytes"}, func(rows int64) (harness.Sample, error) {
			return work(table(rows), filepath.Join(e.Dir, table(rows)+".csv.zst.age"))
		})}, nil
}
