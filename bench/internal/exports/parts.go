package exports

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"culvert/bench/internal/harness"
	"culvert/internal/rowsum"
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
	rows := s.Size(3_000_000, 100_000)
	if err := e.FillTable(e.env, "orders", rows); err != nil {
		return nil, err
	}
	var printed lines
	if err := printed.addOutput(e, e.command("psql", "-qc", csvSQL)); err != nil {
		return nil, err
	}
	c := partsCase{exporter: e, size: printed.size}
	sum, err := c.sum()
	if err != nil {
		return nil, err
	}
	return []harness.Benchmark{c.benchmark(), sum}, nil
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

// sum is the checksum of rows: what it costs in an export, which always has one, and in a comparison with a database,
// which decrypts and decompresses the files and then reads all rows.
func (c *partsCase) sum() (harness.Benchmark, error) {
	dir := filepath.Join(c.Dir, "compared")
	export := []string{"export", "postgres:", "orders", "-r", c.recipient, "-o", dir, "--part-size", partSize}
	if err := c.Run(c.command(c.culvert, export...)); err != nil {
		return harness.Benchmark{}, err
	}
	text, err := c.someLines()
	if err != nil {
		return harness.Benchmark{}, err
	}
	whole := func(args ...string) func() (harness.Sample, error) {
		return func() (harness.Sample, error) {
			return c.cost(c.size, func() (harness.Sample, error) {
				return c.Pipeline("", c.command(c.culvert, args...))
			})
		}
	}
	return harness.Benchmark{
		Name: "Parts/work=sum",
		Variants: []harness.Variant{
			{Key: "impl=export", Run: func() (harness.Sample, error) {
				file := filepath.Join(c.Dir, "export")
				got, err := whole("export", "postgres:", "orders", "-r", c.recipient, "-o", file)()
				return got, errors.Join(err, harness.Settle(file))
			}},
			{Key: "impl=against", Run: whole("verify", "--against", "postgres:", "-i", c.identity, dir)},
			{Key: "impl=sum", Run: func() (harness.Sample, error) {
				var size int64
				for _, line := range text {
					size += int64(len(line))
				}
				return harness.Work{Bytes: size}.Here(func() error {
					var rows rowsum.Adder
					for _, line := range text {
						rows.Line(line)
					}
					return nil
				})
			}},
		},
		Goals: []harness.Goal{{Variant: "impl=sum", Peer: "impl=export", Unit: "cpu-s/GiB", Max: 0.05}},
	}, nil
}

// someLines returns the first 64 MiB of the rows, by lines.
func (c *partsCase) someLines() ([][]byte, error) {
	plain := filepath.Join(c.Dir, "plain")
	if _, err := c.Pipeline(plain, c.command("psql", "-qc", csvSQL)); err != nil {
		return nil, err
	}
	file, err := os.Open(plain)
	if err != nil {
		return nil, err
	}
	const most = 64 << 20
	text, err := io.ReadAll(io.LimitReader(file, most))
	err = errors.Join(err, file.Close(), harness.Settle(plain))
	return bytes.SplitAfter(text, []byte("\n")), err
}
