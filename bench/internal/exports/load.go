package exports

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"culvert/bench/internal/harness"
)

// durable are the settings of a database that is filled: as PostgreSQL comes, it syncs what it commits.
const durable = "fsync=on"

// target is the database that is filled, of the server that has the source.
const target = "target"

// ordersTable is an empty table for the rows of orders.
const ordersTable = `CREATE TABLE orders (id bigint, customer integer, title text, amount numeric(12,2),
	created timestamptz, done boolean, attributes jsonb, note text)`

// loadCase are loads of what was exported. What is measured begins with encrypted files and ends with committed rows.
type loadCase struct {
	*exporter
	rows      int
	size      int64  // of the rows as CSV
	file      string // the table, zstd and age
	directory string // the same, with a manifest
	wanted    string // what tell returns for all rows
}

// PrepareLoad compares culvert load and culvert copy with the tools of the databases, which age and zstd open the files
// for.
func PrepareLoad(s *harness.Session) ([]harness.Benchmark, error) {
	c, err := newLoadCase(s, s.Size(3_000_000, 20_000))
	if err != nil {
		return nil, err
	}
	benchmarks := []harness.Benchmark{c.oneConnection(), c.severalConnections()}
	for _, prepare := range []func() (harness.Benchmark, error){c.tables, c.copies, c.sqlite, c.mariaDB} {
		b, err := prepare()
		if err != nil {
			return nil, err
		}
		if len(b.Variants) > 0 { // it has said what is missing
			benchmarks = append(benchmarks, b)
		}
	}
	return benchmarks, nil
}

// newLoadCase exports a table.
func newLoadCase(s *harness.Session, rows int) (*loadCase, error) {
	e, err := newExporter(s, durable)
	if err != nil {
		return nil, err
	}
	c := &loadCase{exporter: e, rows: rows, directory: filepath.Join(s.Dir, "exported")}
	c.file = filepath.Join(c.directory, "orders.csv.zst.age")
	if c.size, err = e.fillOrders(rows); err != nil {
		return nil, err
	}
	args := []string{"export", "postgres:", "--schema", "public", "-r", e.recipient, "-o", c.directory}
	if err := s.Run(e.command(e.culvert, args...)); err != nil {
		return nil, err
	}
	// Names of files in an export of a schema have the schema.
	if err := os.Link(filepath.Join(c.directory, "public.orders.csv.zst.age"), c.file); err != nil {
		return nil, err
	}
	c.wanted, err = c.tell(e.env, "orders")
	return c, err
}

// tell returns the number of the rows of a table and a sum of their text.
func (c *loadCase) tell(env []string, table string) (string, error) {
	sql := "SELECT count(*), sum(hashtextextended(t::text, 0)) FROM " + table + " AS t"
	out, err := c.in(env, "psql", "-qAtc", sql).Output()
	return strings.TrimSpace(string(out)), err
}

// into returns an environment for another database of the same server.
func (e *exporter) into(database string) []string {
	return append(slices.Clip(e.env), "PGDATABASE="+database) // the last one counts
}

// sql runs statements one by one.
func (c *loadCase) sql(env []string, statements ...string) error {
	var args []string
	for _, sql := range statements {
		args = append(args, "-qc", sql)
	}
	return c.Run(c.in(env, "psql", append(args, "--set", "ON_ERROR_STOP=1")...))
}

// newTarget makes the target again, with statements run in it. The disk is idle then.
func (c *loadCase) newTarget(statements ...string) error {
	drop := "DROP DATABASE IF EXISTS " + target
	if err := c.sql(c.env, drop, "CREATE DATABASE "+target); err != nil {
		return err
	}
	return c.sql(c.into(target), append(statements, "CHECKPOINT")...)
}

// inTarget returns a command in the environment of the target.
func (c *loadCase) inTarget(name string, args ...string) *exec.Cmd {
	return c.in(c.into(target), name, args...)
}

// filling is what the variants of a benchmark fill.
type filling struct {
	size    int64                  // of the rows as CSV
	servers []*harness.Tree        // whose cost is added
	prepare func() error           // makes it again, empty
	tell    func() (string, error) // describes its rows
	wanted  string                 // what tell returns for all rows
}

// by is a variant that fills. The first time, all rows are compared with the source.
func (f filling) by(key string, run harness.Run) harness.Variant {
	isChecked := false
	return harness.Variant{Key: key, Run: func() (harness.Sample, error) {
		if err := f.prepare(); err != nil {
			return nil, err
		}
		got, err := harness.Work{Bytes: f.size}.Between("client", f.servers, run)
		if err != nil || isChecked {
			return got, err
		}
		isChecked = true
		found, err := f.tell()
		if err == nil && found != f.wanted {
			err = fmt.Errorf("the rows are %q instead of %q", found, f.wanted)
		}
		return got, err
	}}
}

// benchmark compares culvert with the tools of a database, and should take at most so many times as long.
func (f filling) benchmark(name string, most float64, tools, culvert harness.Run) harness.Benchmark {
	return harness.Benchmark{
		Name:     name,
		Rotate:   true,
		Variants: []harness.Variant{f.by("impl=tools", tools), f.by("impl=culvert", culvert)},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=tools", Unit: "ns/op", Max: most},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}
}

// orders is the table of the target, which statements make in an empty database.
func (c *loadCase) orders(statements ...string) filling {
	return filling{
		size: c.size, servers: []*harness.Tree{c.database},
		prepare: func() error { return c.newTarget(statements...) },
		tell:    func() (string, error) { return c.tell(c.into(target), "orders") },
		wanted:  c.wanted,
	}
}

// load runs culvert load for the target.
func (c *loadCase) load(args ...string) harness.Run {
	return c.Piped("", c.inTarget(c.culvert, append([]string{"load", "-i", c.identity}, args...)...))
}

// opened opens a file by standard tools, for the last command.
func (c *loadCase) opened(file string, last *exec.Cmd) harness.Run {
	return c.Piped("", c.command(c.age, "-d", "-i", c.identity, file), c.command("zstd", "-q", "-d"), last)
}

// psql is the peer.
func (c *loadCase) psql() harness.Run {
	return c.opened(c.file, c.inTarget("psql", "-qc", `\copy orders from pstdin (format csv, header)`))
}

// oneConnection also has a load that is not the same work: into a table of its own, whose rows are frozen.
func (c *loadCase) oneConnection() harness.Benchmark {
	table, none := c.orders(ordersTable), c.orders()
	return harness.Benchmark{
		Name:   "Load/to=postgres/connections=1",
		Rotate: true,
		Variants: []harness.Variant{
			table.by("impl=tools", c.psql()),
			table.by("impl=culvert", c.load(c.file, "postgres:", "orders")),
			none.by("impl=culvert-create", c.load("--create", "--from", "anyone", c.directory, "postgres:")),
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=tools", Unit: "ns/op", Max: 1},
			{Variant: "impl=culvert", Peer: "impl=tools", Unit: "cpu-s/GiB", Max: 1},
			{Variant: "impl=culvert-create", Peer: "impl=tools", Unit: "ns/op", Max: 0.85},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}
}

// parallelCopy is a peer that has several connections. It commits each batch of rows on its own.
const parallelCopy = "timescaledb-parallel-copy"

func (c *loadCase) severalConnections() harness.Benchmark {
	jobs, table := strconv.Itoa(parallelJobs), c.orders(ordersTable)
	b := harness.Benchmark{
		Name:     fmt.Sprintf("Load/to=postgres/connections=%d", parallelJobs),
		Rotate:   true,
		Variants: []harness.Variant{table.by("impl=tools", c.psql())},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=tools", Unit: "ns/op", Max: 0.7},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}
	if program, err := exec.LookPath(parallelCopy); err != nil {
		c.Say("%v, and is not compared", err)
	} else {
		copying := c.inTarget(program, "-connection", c.server.ConnString(target), "-table", "orders", "-workers", jobs,
			"-skip-header", "-reporting-period", "0s")
		b.Variants = append(b.Variants, table.by("impl="+parallelCopy, c.opened(c.file, copying)))
		b.Goals = append(b.Goals,
			harness.Goal{Variant: "impl=culvert", Peer: "impl=" + parallelCopy, Unit: "ns/op", Max: 0.9})
	}
	culvert := c.load("--jobs", jobs, c.file, "postgres:", "orders")
	b.Variants = append(b.Variants, table.by("impl=culvert", culvert))
	return b
}
