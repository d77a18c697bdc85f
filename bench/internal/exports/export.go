// Package exports has the workloads that take tables out of a database, and put them into another one.
package exports

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"filippo.io/age"

	"culvert/bench/internal/harness"
)

// exporter holds the programs and the database of the benchmarks of exports.
type exporter struct {
	*harness.Session
	culvert   string // programs
	age       string
	env       []string // of the database
	database  *harness.Tree
	server    *harness.Database
	recipient string
	identity  string // a file
}

// newExporter starts a database with settings.
func newExporter(s *harness.Session, settings ...string) (*exporter, error) {
	e := &exporter{Session: s, identity: filepath.Join(s.Dir, "identity")}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	e.recipient = identity.Recipient().String()
	if err := os.WriteFile(e.identity, []byte(identity.String()+"\n"), 0o600); err != nil {
		return nil, err
	}
	if e.culvert, err = s.Build("..", "./cmd/culvert"); err != nil {
		return nil, err
	}
	if e.age, err = s.Build(".", "filippo.io/age/cmd/age"); err != nil {
		return nil, err
	}
	database, err := s.Postgres(settings...)
	if err != nil {
		return nil, err
	}
	e.server, e.env, e.database = database, database.Env, database.Tree
	return e, nil
}

// cost runs processes that export a number of bytes of text, and adds their cost and the database's.
func (e *exporter) cost(size int64, run func() (harness.Sample, error)) (harness.Sample, error) {
	return harness.Work{Bytes: size}.Between("client", []*harness.Tree{e.database}, run)
}

// command returns a command in the environment of the database.
func (e *exporter) command(name string, args ...string) *exec.Cmd { return e.in(e.env, name, args...) }

// in returns a command in another environment.
func (e *exporter) in(env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(e.Ctx, name, args...)
	cmd.Env = env
	return cmd
}

// fillOrders makes the table orders, and returns the size of its rows as CSV in bytes.
func (e *exporter) fillOrders(rows int) (int64, error) {
	if err := e.FillTable(e.env, "orders", rows); err != nil {
		return 0, err
	}
	var printed lines
	err := printed.addOutput(e, e.command("psql", "-qc", csvSQL))
	return printed.size, err
}

const (
	csvSQL   = "COPY orders TO STDOUT (FORMAT csv, HEADER)"
	jsonlSQL = "COPY (SELECT row_to_json(orders) FROM orders) TO STDOUT"
)

// tools returns the peer: psql, a compressor and age, in a pipeline.
func (e *exporter) tools(sql string, compress ...string) func(file string) (harness.Sample, error) {
	return func(file string) (harness.Sample, error) {
		return e.Pipeline(file, e.command("psql", "-qc", sql), e.command(compress[0], compress[1:]...),
			e.command(e.age, "-r", e.recipient))
	}
}

var zstdTool = []string{"zstd", "-q", "-3", "-T0"}

// PrepareExport compares culvert with a pipeline of three tools. Both export a table to a file with one connection.
func PrepareExport(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	rows := s.Size(3_000_000, 20_000)
	return e.exports(rows, []exportCase{
		{
			name: "Export/source=postgres/format=csv/compression=zstd", peer: e.tools(csvSQL, zstdTool...),
			args:   []string{"-r", e.recipient, "-f", "csv", "--ordered", "-c", "zstd"},
			open:   []string{"zstd", "-q", "-d"},
			atMost: 1, lines: rows + 1, same: true, ordered: true,
		},
	})
}

// exports fills the table and returns the benchmarks of the cases.
func (e *exporter) exports(rows int, cases []exportCase) ([]harness.Benchmark, error) {
	printed, err := e.fillOrders(rows)
	if err != nil {
		return nil, err
	}
	var benchmarks []harness.Benchmark
	for _, c := range cases {
		c.exporter = e
		size, err := c.check(printed)
		if err != nil {
			return nil, err
		}
		benchmarks = append(benchmarks, c.benchmark(size))
	}
	return benchmarks, nil
}

// exportCase is an export of one table, and its peer.
type exportCase struct {
	*exporter
	name    string
	peer    func(file string) (harness.Sample, error)
	args    []string // of culvert
	open    []string // the program that decompresses; nil if the file is not encrypted, and then not written
	atMost  float64  // times the peer's time
	lines   int      // expected in the file
	same    bool     // both write the same lines
	ordered bool     // in the same order

	atMostOnTwo float64 // times the peer's time, on two cores; 0 for no other bound
}

// benchmark returns the variants that export size bytes of text.
func (c exportCase) benchmark(size int64) harness.Benchmark {
	settled := func(run func(string) (harness.Sample, error)) func() (harness.Sample, error) {
		return func() (harness.Sample, error) {
			file := filepath.Join(c.Dir, "export")
			got, err := c.cost(size, func() (harness.Sample, error) { return run(file) })
			if err != nil || c.open == nil {
				return got, err
			}
			if c.ordered {
				got.SetSpeed(size)
			}
			return got, harness.Settle(file)
		}
	}
	faster := harness.Goal{Variant: "impl=culvert", Peer: "impl=tools", Unit: "ns/op", Max: c.atMost}
	goals := []harness.Goal{faster, {Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20}}
	if c.atMostOnTwo > 0 {
		faster.Max = c.atMostOnTwo
		goals = append(goals, harness.On(2, faster)...)
	}
	return harness.Benchmark{
		Name: c.name,
		Variants: []harness.Variant{
			{Key: "impl=tools", Run: settled(c.peer)},
			{Key: "impl=culvert", Run: settled(c.runCulvert)},
		},
		Goals: goals,
	}
}

func (c exportCase) runCulvert(file string) (harness.Sample, error) {
	output := ""
	if c.open == nil {
		file, output = "-", os.DevNull // as the peer, which takes no time to write
	}
	args := append([]string{"export", "postgres:", "orders", "-o", file}, c.args...)
	return c.Pipeline(output, c.command(c.culvert, args...))
}

// check opens both files with standard tools and compares them. It returns the size of the text of the peer, which is
// printed if nothing is written.
func (c exportCase) check(printed int64) (int64, error) {
	if c.open == nil {
		return printed, nil
	}
	var found [2]lines
	for i, run := range []func(string) (harness.Sample, error){c.peer, c.runCulvert} {
		file := filepath.Join(c.Dir, "export")
		if _, err := run(file); err != nil {
			return 0, err
		}
		found[i].ordered = c.ordered
		decrypt := c.command(c.age, "-d", "-i", c.identity, file)
		if err := found[i].addOutput(c.exporter, decrypt, c.command(c.open[0], c.open[1:]...)); err != nil {
			return 0, err
		}
		if err := harness.Settle(file); err != nil {
			return 0, err
		}
	}
	if found[0].count != c.lines || found[1].count != c.lines || c.same && found[0] != found[1] {
		return 0, fmt.Errorf("%s: the tools export %d lines, and culvert %d, of %d", c.name,
			found[0].count, found[1].count, c.lines)
	}
	c.Say("%s: both export the same %d lines", c.name, c.lines)
	return found[0].size, nil
}

// lines sums up the lines of a file.
type lines struct {
	ordered bool // sum depends on the order of the lines
	count   int
	size    int64
	sum     uint64 // of the hashes of the lines
}

var lineSeed = maphash.MakeSeed()

// addOutput adds the output of a pipeline.
func (l *lines) addOutput(e *exporter, commands ...*exec.Cmd) error {
	plain := filepath.Join(e.Dir, "plain")
	if _, err := e.Pipeline(plain, commands...); err != nil {
		return err
	}
	return errors.Join(l.addFile(plain), harness.Settle(plain))
}

func (l *lines) addFile(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	for r := bufio.NewReaderSize(file, 1<<20); ; {
		line, err := r.ReadSlice('\n')
		switch {
		case err == io.EOF && len(line) == 0:
			return nil
		case err != nil:
			return err
		}
		l.count++
		l.size += int64(len(line))
		if l.ordered {
			l.sum *= 31
		}
		l.sum += maphash.Bytes(lineSeed, line)
	}
}
