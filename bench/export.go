package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"filippo.io/age"
)

// exporter has what the benchmarks of whole processes share.
type exporter struct {
	*session
	culvert   string // programs
	age       string
	env       []string // of the database
	recipient string
	identity  string // a file
}

func newExporter(s *session) (*exporter, error) {
	e := &exporter{session: s, identity: filepath.Join(s.dir, "identity")}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	e.recipient = identity.Recipient().String()
	if err := os.WriteFile(e.identity, []byte(identity.String()+"\n"), 0o600); err != nil {
		return nil, err
	}
	if e.culvert, err = s.build("..", "./cmd/culvert"); err != nil {
		return nil, err
	}
	if e.age, err = s.build(".", "filippo.io/age/cmd/age"); err != nil {
		return nil, err
	}
	e.env, err = s.postgres()
	return e, err
}

// command is a program in the environment of the database.
func (e *exporter) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(e.ctx, name, args...)
	cmd.Env = e.env
	return cmd
}

// prepareExport compares culvert with a pipeline of three tools, both from one table into a file, with one connection.
func prepareExport(s *session) ([]benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	if err := e.fillTable(e.env, "orders", s.size(3_000_000, 20_000)); err != nil {
		return nil, err
	}
	zstd := exportCase{e, "zstd", []string{"-q", "-3", "-T0"}, []string{"-q", "-d"}}
	gzip := exportCase{e, "gzip", nil, []string{"-d"}}
	zstdBenchmark, err := zstd.benchmark(1.0)
	if err != nil {
		return nil, err
	}
	gzipBenchmark, err := gzip.benchmark(0.45)
	return []benchmark{zstdBenchmark, gzipBenchmark}, err
}

// exportCase is an export with one compression.
type exportCase struct {
	*exporter
	compression          string // also the name of the peer's program
	compress, decompress []string
}

func (c exportCase) benchmark(atMost float64) (benchmark, error) {
	size, err := c.compare()
	if err != nil {
		return benchmark{}, err
	}
	withSpeed := func(run func(string) (sample, error)) func() (sample, error) {
		return func() (sample, error) {
			file := filepath.Join(c.dir, "export")
			got, err := run(file)
			if err != nil {
				return nil, err
			}
			got["MB/s"] = float64(size) / 1e6 / (got["ns/op"] / 1e9)
			return got, settle(file)
		}
	}
	return benchmark{
		name: "Export/source=postgres/format=csv/compression=" + c.compression,
		variants: []variant{
			{"impl=tools", withSpeed(c.runTools)},
			{"impl=culvert", withSpeed(c.runCulvert)},
		},
		goals: []goal{
			{variant: "impl=culvert", peer: "impl=tools", unit: "ns/op", max: atMost},
			{variant: "impl=culvert", unit: "peak-bytes", max: 96 << 20},
		},
	}, nil
}

func (c exportCase) runTools(file string) (sample, error) {
	return c.pipeline(file, c.command("psql", "-qc", "COPY orders TO STDOUT (FORMAT csv, HEADER)"),
		c.command(c.compression, c.compress...), c.command(c.age, "-r", c.recipient))
}

func (c exportCase) runCulvert(file string) (sample, error) {
	return c.pipeline("", c.command(c.culvert, "export", "postgres:", "orders", "-r", c.recipient,
		"-f", "csv", "-c", c.compression, "--ordered", "-o", file))
}

// compare makes sure that both ways give the same rows, by stock tools, and gives the size of the CSV in bytes.
func (c exportCase) compare() (int64, error) {
	var sizes [2]int64
	var sums [2]string
	for i, run := range []func(string) (sample, error){c.runTools, c.runCulvert} {
		file := filepath.Join(c.dir, "export")
		if _, err := run(file); err != nil {
			return 0, err
		}
		plain := filepath.Join(c.dir, "plain")
		_, err := c.pipeline(plain, c.command(c.age, "-d", "-i", c.identity, file),
			c.command(c.compression, c.decompress...))
		if err != nil {
			return 0, err
		}
		if sums[i], sizes[i], err = sumOf(plain); err != nil {
			return 0, err
		}
		for _, name := range []string{file, plain} {
			if err := settle(name); err != nil {
				return 0, err
			}
		}
	}
	if sums[0] != sums[1] {
		return 0, fmt.Errorf("the tools export %d bytes, and culvert %d other ones", sizes[0], sizes[1])
	}
	c.say("%s: both ways give the same %d bytes of CSV", c.compression, sizes[0])
	return sizes[0], nil
}

// sumOf gives the hash and the size of a file.
func sumOf(name string) (string, int64, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	n, err := io.Copy(hash, file)
	return string(hash.Sum(nil)), n, err
}
