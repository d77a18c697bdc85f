package exports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"culvert/bench/internal/harness"
)

// mariaTables is how many tables there are while others write.
const mariaTables = 200

// mariaCase is a MariaDB server with the rows of orders.
type mariaCase struct {
	*tablesCase
	maria *harness.Database
}

// PrepareMariaDB compares an export of MariaDB with several connections with mydumper, which does not encrypt, and with
// a pipeline of mariadb-dump. Then it measures for how long nobody can commit while the connections begin.
func PrepareMariaDB(s *harness.Session) ([]harness.Benchmark, error) {
	for _, program := range []string{"mariadb", "mariadb-dump", "mydumper"} {
		if _, err := exec.LookPath(program); err != nil {
			s.Say("%s is not installed, and exports of MariaDB are not compared", program)
			return nil, nil
		}
	}
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	c := mariaCase{tablesCase: &tablesCase{exporter: e}}
	if c.maria, err = s.MariaDB(); err != nil {
		return nil, err
	}
	rows := s.Size(3_000_000, 20_000)
	if c.size, err = c.fillOrders(rows); err != nil {
		return nil, err
	}
	file, query := filepath.Join(s.Dir, "maria.csv"), fmt.Sprintf(mariaQuery, rows)
	sql := func(sql string) error { return c.Run(c.in(c.maria.Env, "mariadb", "-e", sql, "bench")) }
	if err := errors.Join(
		sql(mariaTable+"; ALTER TABLE orders MODIFY id bigint NOT NULL, ADD PRIMARY KEY (id)"),
		c.Run(c.command(c.culvert, "export", "postgres:", "-q", query, "--no-encrypt", "-o", file)),
		c.Run(c.in(c.maria.Env, c.culvert, "load", file, mariaSource, "orders")),
		sql("ANALYZE TABLE orders"),
		os.Remove(file),
		sql(manyTablesOfMaria()),
	); err != nil {
		return nil, err
	}
	return []harness.Benchmark{c.export(), c.moment()}, nil
}

const mariaSource = "mysql://root@localhost/bench"

// export compares exports of the whole table.
func (c mariaCase) export() harness.Benchmark {
	jobs := strconv.Itoa(parallelJobs)
	culvert := func(dir string, args ...string) (harness.Sample, error) {
		file := filepath.Join(dir, "orders.csv.zst.age")
		args = append([]string{"export", mariaSource, "orders", "-r", c.recipient, "-o", file}, args...)
		return c.Pipeline("", c.in(c.maria.Env, c.culvert, args...))
	}
	measured := func(run func(dir string) (harness.Sample, error)) harness.Run {
		return func() (harness.Sample, error) {
			dir := filepath.Join(c.Dir, "export")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, err
			}
			got, err := harness.Work{Bytes: c.size}.Between("client", []*harness.Tree{c.maria.Tree},
				func() (harness.Sample, error) { return run(dir) })
			return got, errors.Join(err, settleAll(dir))
		}
	}
	return harness.Benchmark{
		Name:   "Export/source=mariadb/format=csv/compression=zstd/readers=" + jobs,
		Rotate: true,
		Variants: []harness.Variant{
			{Key: "impl=mydumper", Run: measured(func(dir string) (harness.Sample, error) {
				return withoutPeak(c.Pipeline("", c.in(c.maria.Env, "mydumper", "-u", "root", "-S", c.maria.Socket(),
					"-B", "bench", "-T", "orders", "-t", jobs, "-c", "-r", "200000", "-o", dir)))
			})},
			{Key: "impl=tools", Run: measured(func(dir string) (harness.Sample, error) {
				return c.Pipeline(filepath.Join(dir, "orders"),
					c.in(c.maria.Env, "mariadb-dump", "--single-transaction", "bench", "orders"),
					c.command(zstdTool[0], zstdTool[1:]...), c.command(c.age, "-r", c.recipient))
			})},
			{Key: "impl=culvert-one", Run: measured(func(dir string) (harness.Sample, error) {
				return culvert(dir, "--lock-wait", "0")
			})},
			{Key: "impl=culvert", Run: measured(func(dir string) (harness.Sample, error) {
				return culvert(dir, "-j", jobs)
			})},
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=mydumper", Unit: "ns/op", Max: 0.6},
			{Variant: "impl=culvert", Peer: "impl=tools", Unit: "ns/op", Max: 0.35},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 128 << 20},
		},
	}
}

// manyTablesOfMaria returns what makes small tables.
func manyTablesOfMaria() string {
	var all strings.Builder
	for i := range mariaTables {
		fmt.Fprintf(&all, "CREATE TABLE many_%d (id int PRIMARY KEY, n bigint) AS SELECT seq AS id, 0 AS n"+
			" FROM seq_1_to_100; ", i)
	}
	return all.String()
}

// write changes rows of one of the tables, each in a transaction of its own, until the context ends.
func (c mariaCase) write(ctx context.Context, table int) error {
	const transactions = 500
	sql := strings.Repeat(fmt.Sprintf("UPDATE many_%d SET n = n + 1 WHERE id = 7; ", table), transactions)
	for ctx.Err() == nil {
		err := c.Run(c.in(c.maria.Env, "mariadb", "-e", sql, "bench"))
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("a writer has ended: %w", err)
		}
	}
	return nil
}

// moment measures how long the server is locked for several connections to begin, while others write as fast as they
// can.
func (c mariaCase) moment() harness.Benchmark {
	const writers = 4
	return harness.Benchmark{
		Name: fmt.Sprintf("Moment/source=mariadb/tables=%d/writers=%d", mariaTables, writers),
		Variants: []harness.Variant{{Key: "impl=culvert", Run: func() (sample harness.Sample, err error) {
			ctx, stop := context.WithCancel(c.Ctx)
			var clients errgroup.Group
			for i := range writers {
				clients.Go(func() error { return c.write(ctx, i) })
			}
			defer func() { err = errors.Join(err, clients.Wait()) }()
			defer stop()
			return c.lockOnce()
		}}},
		Goals: []harness.Goal{{Variant: "impl=culvert", Unit: "lock-ns/op", Max: 100e6}},
	}
}

// lockOnce exports the small tables, and returns how long that has locked the server.
func (c mariaCase) lockOnce() (harness.Sample, error) {
	dir := filepath.Join(c.Dir, "moment")
	export := c.in(c.maria.Env, c.culvert, "export", mariaSource, "--all", "--exclude", "orders", "-j",
		strconv.Itoa(parallelJobs), "-r", c.recipient, "-o", dir, "--json")
	printed, err := export.Output()
	if err != nil {
		return nil, err
	}
	var report struct {
		Connections int
		Seconds     float64
		Locked      float64 `json:"lock_seconds"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(printed), &report); err != nil {
		return nil, err
	}
	if report.Connections != parallelJobs {
		return nil, fmt.Errorf("%d connections have begun together, want %d", report.Connections, parallelJobs)
	}
	return harness.Sample{"ns/op": report.Seconds * 1e9, "lock-ns/op": report.Locked * 1e9}, settleAll(dir)
}
