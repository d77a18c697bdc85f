package exports

import (
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"culvert/bench/internal/harness"
)

//go:embed peers/columns.py
var columnsScript string

// columnsPeers are the packages of PyPI that the script of peers imports.
var columnsPeers = []string{
	"pyarrow==26.0.1", "connectorx==0.4.6", "adbc-driver-postgresql==1.13.0", "adbc-driver-manager==1.13.0",
	"pandas==3.1.1",
}

// columnsBench has what the benchmarks of Parquet and Arrow share.
type columnsBench struct {
	*exporter
	python string
	script string
	uri    string // of the database
	size   int64  // of its rows as CSV
}

// PrepareColumns compares files of columns, out of databases and into one, with what analysts use in Python. The peers
// do not encrypt.
func PrepareColumns(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	c := &columnsBench{exporter: e, script: filepath.Join(s.Dir, "columns.py")}
	for _, setting := range e.env {
		if home, is := strings.CutPrefix(setting, "PGHOST="); is {
			c.uri = "postgresql://postgres@" + url.QueryEscape(home) + "/postgres"
		}
	}
	if err := os.WriteFile(c.script, []byte(columnsScript), 0o600); err != nil {
		return nil, err
	}
	if err := c.install(); err != nil {
		return nil, err
	}
	if c.size, err = e.fillOrders(s.Size(3_000_000, 10_000)); err != nil {
		return nil, err
	}
	lite := filepath.Join(s.Dir, "orders.db")
	fill := exec.CommandContext(s.Ctx, "sqlite3", "-bail", lite)
	fill.Stdin = strings.NewReader(harness.SqliteScript(s.Size(1_000_000, 10_000)))
	if err := s.Run(fill); err != nil {
		return nil, err
	}
	load, err := c.load()
	if err != nil {
		return nil, err
	}
	jobs := strconv.Itoa(parallelJobs)
	parquet := c.benchmark("Columns/source=postgres/format=parquet",
		[]string{"export", "postgres:", "orders", "-r", e.recipient, "-j", jobs, "-f", "parquet"},
		map[string]string{"connectorx": c.uri, "adbc": c.uri})
	parquet.Goals = append(parquet.Goals, harness.Goal{Variant: "impl=culvert", Unit: "peak-bytes", Max: 160 << 20})
	c.addPg2parquet(&parquet)
	return []harness.Benchmark{
		parquet,
		c.benchmark("Columns/source=postgres/format=arrow",
			[]string{"export", "postgres:", "orders", "--no-encrypt", "-j", jobs, "-f", "arrow"},
			map[string]string{"adbcarrow": c.uri}),
		c.benchmark("Columns/source=postgres/format=arrow-uncompressed",
			[]string{"export", "postgres:", "orders", "--no-encrypt", "-j", jobs, "-f", "arrow", "-c", "none"},
			map[string]string{"adbcplain": c.uri}),
		c.benchmark("Columns/source=sqlite/format=parquet",
			[]string{"export", lite, "orders", "-r", e.recipient, "-f", "parquet"}, map[string]string{"pandas": lite}),
		load,
	}, nil
}

// install makes an environment of Python with the peers, unless CULVERT_BENCH_PYTHON names a Python that has them.
func (c *columnsBench) install() error {
	if c.python = os.Getenv("CULVERT_BENCH_PYTHON"); c.python != "" {
		return nil
	}
	home := filepath.Join(c.Dir, "python")
	c.python = filepath.Join(home, "bin", "python3")
	if err := c.Run(exec.CommandContext(c.Ctx, "python3", "-m", "venv", home)); err != nil {
		return err
	}
	args := append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, columnsPeers...)
	return c.Run(exec.CommandContext(c.Ctx, c.python, args...))
}

// peer returns the command of a peer.
func (c *columnsBench) peer(args ...string) *exec.Cmd {
	return c.command(c.python, append([]string{c.script}, args...)...)
}

// addPg2parquet adds the program of cargo, if it is installed.
func (c *columnsBench) addPg2parquet(b *harness.Benchmark) {
	const peer, key = "pg2parquet", "impl=pg2parquet"
	if _, err := exec.LookPath(peer); err != nil {
		c.Say("%s is not in PATH: cargo install pg2parquet@0.2.2", peer)
		return
	}
	home := strings.TrimSuffix(strings.TrimPrefix(c.uri, "postgresql://postgres@"), "/postgres")
	home, err := url.QueryUnescape(home)
	if err != nil {
		panic(err) // it was escaped here
	}
	file := c.file()
	b.Variants = append(b.Variants, harness.Variant{Key: key, Run: c.written(func() *exec.Cmd {
		return c.command(peer, "export", "--host", home, "--user", "postgres", "--dbname", "postgres",
			"--password", "none", "--compression", "zstd", "--compression-level", "1", "--table", "orders",
			"--output-file", file)
	})})
	b.Goals = append(b.Goals, harness.Goal{Variant: "impl=culvert", Peer: key, Unit: "ns/op", Max: 0.5})
}

// file is what is written.
func (c *columnsBench) file() string { return filepath.Join(c.Dir, "columns") }

// written runs a command that writes the file, and measures that.
func (c *columnsBench) written(make func() *exec.Cmd) harness.Run {
	file := c.file()
	return func() (harness.Sample, error) {
		got, err := c.cost(c.size, func() (harness.Sample, error) { return c.Pipeline("", make()) })
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		got["file-bytes"] = float64(info.Size())
		return got, harness.Settle(file)
	}
}

// benchmark returns the benchmark of writing a file: by culvert with these arguments, and by peers from their sources.
func (c *columnsBench) benchmark(name string, args []string, peers map[string]string) harness.Benchmark {
	file := c.file()
	b := harness.Benchmark{Name: name, Variants: []harness.Variant{{
		Key: "impl=culvert",
		Run: c.written(func() *exec.Cmd { return c.command(c.culvert, append(args, "-o", file)...) }),
	}}}
	for _, peer := range slices.Sorted(maps.Keys(peers)) {
		key, from := "impl="+peer, peers[peer]
		b.Variants = append(b.Variants, harness.Variant{
			Key: key, Run: c.written(func() *exec.Cmd { return c.peer(peer, from, file) }),
		})
		b.Goals = append(b.Goals, harness.Goal{Variant: "impl=culvert", Peer: key, Unit: "ns/op", Max: 0.5})
	}
	return b
}

// load returns the benchmark of loading a file of Parquet. It also compares its size with the same rows as pyarrow
// writes them.
func (c *columnsBench) load() (b harness.Benchmark, err error) {
	file, again := filepath.Join(c.Dir, "orders.parquet"), filepath.Join(c.Dir, "again.parquet")
	export := c.command(c.culvert, "export", "postgres:", "orders", "--no-encrypt", "-o", file)
	for _, cmd := range []*exec.Cmd{export, c.peer("again", file, again)} {
		if err := c.Run(cmd); err != nil {
			return b, err
		}
	}
	ours, err := os.Stat(file)
	if err != nil {
		return b, err
	}
	theirs, err := os.Stat(again)
	if err != nil {
		return b, err
	}
	c.Say("the file of Parquet has %d bytes, and pyarrow's, by zstd level 1, %d: %.3f times", ours.Size(),
		theirs.Size(), float64(ours.Size())/float64(theirs.Size()))
	loaded := func(make func() *exec.Cmd) harness.Run {
		return func() (harness.Sample, error) {
			drop := c.command("psql", "-qc", "DROP TABLE IF EXISTS loaded", "-c", "CHECKPOINT")
			if err := c.Run(drop); err != nil {
				return nil, err
			}
			return c.cost(c.size, func() (harness.Sample, error) { return c.Pipeline("", make()) })
		}
	}
	// ADBC makes a column of text of what is JSON, which costs the server less.
	create := []string{"load", "--create", "--jobs", fmt.Sprint(parallelJobs), file, "postgres:", "public.loaded"}
	asText := append(slices.Clone(create), "--type", "public.loaded.attributes=text")
	return harness.Benchmark{
		Name: "Columns/to=postgres/format=parquet",
		Variants: []harness.Variant{
			{Key: "impl=culvert", Run: loaded(func() *exec.Cmd { return c.command(c.culvert, create...) })},
			{Key: "impl=culvert-text", Run: loaded(func() *exec.Cmd { return c.command(c.culvert, asText...) })},
			{Key: "impl=adbc", Run: loaded(func() *exec.Cmd { return c.peer("ingest", c.uri, file) })},
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=adbc", Unit: "ns/op", Max: 0.6},
			{Variant: "impl=culvert-text", Peer: "impl=adbc", Unit: "ns/op", Max: 0.6},
		},
	}, nil
}
