package exports

import (
	"os"
	"path/filepath"

	"culvert/bench/internal/harness"
)

// partSize is the size of parts, as stored by the database. It is small, so that what each part costs shows.
const partSize = "16MiB"

// partsCase is the export of one table in parts, into a directory.
type partsCase struct {
	*exporter
	size int64 // of the table as CSV
}

// PrepareParts compares exports of a table in parts with exports into one file, by as many connections.
func PrepareParts(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	rows := s.Size(3_000_000, 200_000)
	if err := e.FillTable(e.env, "orders", rows); err != nil {
		return nil, err
	}
	var printed lines
	if err := printed.addOutput(e, e.command("psql", "-qc", csvSQL)); err != nil {
		return nil, err
	}
	c := partsCase{exporter: e, size: printed.size}
	return []harness.Benchmark{c.benchmark()}, nil
}

// benchmark has each run that writes parts compared with the database afterwards, which is not measured.
func (c *partsCase) benchmark() harness.Benchmark {
	settled := func(args ...string) func() (harness.Sample, error) {
		return func() (harness.Sample, error) {
			dir := filepath.Join(c.Dir, "export")
			args := append([]string{"export", "postgres:", "orders", "-r", c.recipient, "-o", dir}, args...)
			got, err := c.cost(c.size, func() (harness.Sample, error) {
				return c.Pipeline("", c.command(c.culvert, args...))
			})
			if err != nil {
				return nil, err
			}
			if _, err := os.Stat(filepath.Join(dir, "manifest.json.age")); err == nil {
				against := c.command(c.culvert, "verify", "--against", "postgres:", "-i", c.identity, dir)
				if _, err := c.Pipeline("", against); err != nil {
					return nil, err
				}
			}
			return got, settleAll(dir)
		}
	}
	return harness.Benchmark{
		Name: "Parts/source=postgres/size=" + partSize,
		Variants: []harness.Variant{
			{Key: "impl=file", Run: settled()},
			{Key: "impl=culvert", Run: settled("--part-size", partSize)},
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=file", Unit: "ns/op", Max: 1.10},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}
}
