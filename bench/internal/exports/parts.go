package exports

import (
	"path/filepath"

	"culvert/bench/internal/harness"
)

// partSize is the size of parts, as stored by the database. It is small, so that what each part costs shows.
const partSize = "16MiB"

// PrepareParts compares exports of a table in parts with exports into one file, by as many connections.
func PrepareParts(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	size, err := e.fillOrders(s.Size(3_000_000, 100_000))
	if err != nil {
		return nil, err
	}
	b := e.inParts("Parts/source=postgres/size="+partSize, size)
	b.Goals = append(b.Goals, harness.Goal{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20})
	sum, err := e.sums(size)
	return []harness.Benchmark{b, sum}, err
}

// inParts compares an export of the table orders in parts, with more flags if there are any, with one into a file. size
// is that of its rows as CSV.
func (e *exporter) inParts(name string, size int64, flags ...string) harness.Benchmark {
	dir := filepath.Join(e.Dir, "export")
	export := func(flags ...string) (harness.Sample, error) {
		args := append([]string{"export", "postgres:", "orders", "-r", e.recipient, "-o", dir}, flags...)
		return e.cost(size, func() (harness.Sample, error) { return e.Pipeline("", e.command(e.culvert, args...)) })
	}
	return harness.Benchmark{
		Name: name,
		Variants: []harness.Variant{
			{Key: "impl=file", Run: func() (harness.Sample, error) {
				got, err := export()
				if err != nil {
					return nil, err
				}
				return got, settleAll(dir)
			}},
			{Key: "impl=culvert", Run: func() (harness.Sample, error) {
				got, err := export(append([]string{"--part-size", partSize}, flags...)...)
				if err != nil {
					return nil, err
				}
				return got, e.verified(dir)
			}},
		},
		Goals: []harness.Goal{{Variant: "impl=culvert", Peer: "impl=file", Unit: "ns/op", Max: 1.10}},
	}
}

// verified compares an export in a directory with the database, which is not measured, and removes it.
func (e *exporter) verified(dir string) error {
	against := e.command(e.culvert, "verify", "--against", "postgres:", "-i", e.identity, dir)
	if _, err := e.Pipeline("", against); err != nil {
		return err
	}
	return settleAll(dir)
}
