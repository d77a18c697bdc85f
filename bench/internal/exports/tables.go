package exports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"culvert/bench/internal/harness"
)

// severalTables are the tables that are exported at once.
const severalTables = 8

// tablesCase is the export of several tables into a directory.
type tablesCase struct {
	*exporter
	tables []string
	rows   int   // of all together
	size   int64 // of all as CSV
}

// PrepareTables compares culvert with pg_dump, both with four connections. pg_dump compresses with its default, gzip,
// and does not encrypt; culvert does.
func PrepareTables(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	c := tablesCase{exporter: e, rows: s.Size(3_000_000, 16_000)}
	for i := range severalTables {
		c.tables = append(c.tables, severalTable(i))
		if err := e.FillTable(e.env, c.tables[i], c.rows/severalTables); err != nil {
			return nil, err
		}
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return []harness.Benchmark{c.benchmark()}, nil
}

func (c *tablesCase) benchmark() harness.Benchmark {
	return harness.Benchmark{
		Name: fmt.Sprintf("Tables/source=postgres/tables=%d", severalTables),
		Variants: []harness.Variant{
			{Key: "impl=pg_dump", Run: c.settled(c.size, c.runPgDump)},
			{Key: "impl=culvert", Run: c.settled(c.size, c.runCulvert)},
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=pg_dump", Unit: "ns/op", Max: 0.6},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}
}

// settled measures a run that writes a directory, and waits until the disk has it.
func (c *tablesCase) settled(
	size int64, run func(dir string) (harness.Sample, error),
) func() (harness.Sample, error) {
	return func() (harness.Sample, error) {
		dir := filepath.Join(c.Dir, "export")
		got, err := c.cost(size, func() (harness.Sample, error) { return run(dir) })
		if err != nil {
			return nil, err
		}
		return got, settleAll(dir)
	}
}

// runPgDump leaves out the memory, since only that of the first of its processes is known.
func (c *tablesCase) runPgDump(dir string) (harness.Sample, error) {
	return withoutPeak(c.Pipeline("", c.command("pg_dump", "-Fd", "-j", strconv.Itoa(parallelJobs), "-f", dir,
		"-t", "orders_*")))
}

func (c *tablesCase) runCulvert(dir string) (harness.Sample, error) {
	args := append([]string{"export", "postgres:"}, c.tables...)
	args = append(args, "-j", strconv.Itoa(parallelJobs), "-r", c.recipient, "-o", dir)
	return c.Pipeline("", c.command(c.culvert, args...))
}

// check makes sure, by stock tools, that both ways give all rows, and culvert those that psql gives.
func (c *tablesCase) check() error {
	dir := filepath.Join(c.Dir, "export")
	if _, err := c.runPgDump(dir); err != nil {
		return err
	}
	const atEnd = 3 // \. and two empty lines
	out, err := c.command("sh", "-c", `gzip -dc "$0"/*.dat.gz | wc -l`, dir).Output()
	if got := strings.TrimSpace(string(out)); err == nil && got != strconv.Itoa(c.rows+atEnd*severalTables) {
		err = fmt.Errorf("pg_dump gives %s lines", got)
	}
	if err != nil {
		return err
	}
	if err := settleAll(dir); err != nil {
		return err
	}

	if _, err := c.runCulvert(dir); err != nil {
		return err
	}
	var wanted, found lines
	for _, table := range c.tables {
		sql := "COPY " + table + " TO STDOUT (FORMAT csv, HEADER)"
		decrypt := c.command(c.age, "-d", "-i", c.identity, filepath.Join(dir, table+".csv.zst.age"))
		if err := errors.Join(
			wanted.addOutput(c.exporter, c.command("psql", "-qc", sql)),
			found.addOutput(c.exporter, decrypt, c.command("zstd", "-q", "-d")),
		); err != nil {
			return err
		}
	}
	if found != wanted || found.count != c.rows+severalTables {
		return fmt.Errorf("psql gives %d lines, and culvert %d", wanted.count, found.count)
	}
	c.size = wanted.size
	if err := settleAll(dir); err != nil {
		return err
	}
	c.Say("both give the %d rows of %d tables", c.rows, severalTables)
	return nil
}

// settleAll is settle for all files of a directory.
func settleAll(dir string) error {
	var errs []error
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			errs = append(errs, harness.Settle(name))
		}
		return err
	})
	return errors.Join(append(errs, err, os.RemoveAll(dir))...)
}
