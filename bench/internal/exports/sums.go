package exports

import (
	"bytes"
	"fmt"
	"path/filepath"

	"culvert/bench/internal/harness"
	"culvert/internal/canonical"
	"culvert/internal/rowsum"
	"culvert/source"
)

// summedRows is how many rows are added up at a time.
const summedRows = 400_000

// sums compares the checksums of rows alone, on lines of the table as CSV, with an export. An export always has both
// checksums: of the text, and of the canonical values. The second one costs most with MariaDB, where JSON is text and a
// TIMESTAMP has no zone. Where fields end is known, as an export knows it, which has written them.
func (e *exporter) sums(size int64) (harness.Benchmark, error) {
	file := filepath.Join(e.Dir, "summed")
	export := e.Piped("", e.command(e.culvert, "export", "postgres:", "orders", "-r", e.recipient, "-o", file))
	b := harness.Benchmark{
		Name: "Parts/work=sum",
		Variants: []harness.Variant{{Key: "impl=export", Run: harness.Settled(file, func() (harness.Sample, error) {
			return e.cost(size, export)
		})}},
		Goals: []harness.Goal{{Variant: "impl=sum", Peer: "impl=export", Unit: "cpu-s/GiB", Max: 0.05}},
	}
	postgres, err := e.lines(fmt.Sprintf("SELECT * FROM orders LIMIT %d", summedRows))
	if err != nil {
		return b, err
	}
	maria, err := e.lines(fmt.Sprintf(mariaQuery, summedRows))
	if err != nil {
		return b, err
	}
	b.Variants = append(b.Variants, harness.Variant{Key: "impl=sum", Run: added(postgres, func(lines []byte) {
		var rows rowsum.Adder
		for line := range bytes.Lines(lines) {
			rows.Line(line)
		}
	})})
	for _, system := range []struct {
		key     string
		lines   []byte
		printed source.Dialect
		json    string
	}{{"impl=both", postgres, source.PostgreSQL, "jsonb"}, {"impl=both-mariadb", maria, source.MariaDB, "longtext"}} {
		types := canonical.TypesOf(ofOrders(system.json), system.printed)
		ends := fieldEnds(system.lines)
		b.Variants = append(b.Variants, harness.Variant{Key: system.key, Run: added(system.lines, func(lines []byte) {
			var rows canonical.Adder
			rows.Reset(types)
			row := 0
			for line := range bytes.Lines(lines) {
				rows.Row(line, ends[row:row+columnsOfOrders])
				row += columnsOfOrders
			}
		})})
		b.Goals = append(b.Goals, harness.Goal{
			Variant: system.key, Peer: "impl=export", Unit: "cpu-s/GiB", Max: 0.05 + 0.03,
		})
	}
	return b, nil
}

// lines returns the lines of a query.
func (e *exporter) lines(query string) ([]byte, error) {
	return e.command("psql", "-qc", "COPY ("+query+") TO STDOUT (FORMAT csv)").Output()
}

// columnsOfOrders is the number of columns that ofOrders returns.
const columnsOfOrders = 8

// fieldEnds returns where in its line each field of each line ends.
func fieldEnds(lines []byte) (ends []int) {
	for line := range bytes.Lines(lines) {
		quoted := false
		for at, c := range line {
			switch {
			case c == '"':
				quoted = !quoted
			case !quoted && (c == ',' || c == '\n'):
				ends = append(ends, at)
			}
		}
	}
	return ends
}

func added(lines []byte, add func(lines []byte)) harness.Run {
	return func() (harness.Sample, error) {
		return harness.Work{Bytes: int64(len(lines))}.Here(func() error {
			add(lines)
			return nil
		})
	}
}

// ofOrders are the columns of the table, with the type that a database has for JSON.
func ofOrders(json string) []source.Column {
	class := func(c source.Class) source.Type { return source.Type{Class: c} }
	return []source.Column{
		{Name: "id", Type: "bigint", Logical: source.Type{Class: source.IntClass, Bits: 64}},
		{Name: "customer", Type: "int", Logical: source.Type{Class: source.IntClass, Bits: 32}},
		{Name: "title", Type: "text", Logical: class(source.StringClass)},
		{Name: "amount", Logical: source.Type{Class: source.DecimalClass, Precision: 12, Scale: 2}},
		{Name: "created", Logical: class(source.InstantClass)},
		{Name: "done", Type: "tinyint", Logical: source.Type{Class: source.IntClass, Bits: 16}},
		{Name: "attributes", Type: json, Logical: class(source.JSONClass)},
		{Name: "note", Type: "text", Logical: class(source.StringClass)},
	}
}
