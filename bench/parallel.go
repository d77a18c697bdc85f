package main

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// parallelJobs is the number of connections and of cores that culvert may use, and of the psqls that do by hand what it
// does.
const parallelJobs = 4

// parallelCase is an export of one table by several connections, beside what people run today.
type parallelCase struct {
	*exporter
	name   string
	peer   func(file string) (sample, error)
	args   []string // of culvert
	open   []string // the program that decompresses
	atMost float64
	rows   int
	same   bool // the lines of both are the same, but for their order
}

// prepareParallel compares culvert with tools that read the table with one connection, and, where nothing is compressed
// or encrypted, with as many psqls.
func prepareParallel(s *session) ([]benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	rows := s.size(3_000_000, 60_000)
	if err := e.fillTable(e.env, "orders", rows); err != nil {
		return nil, err
	}
	byHand, err := e.ranges(parallelJobs)
	if err != nil {
		return nil, err
	}
	const csv = "COPY orders TO STDOUT (FORMAT csv, HEADER)"
	const jsonl = "COPY (SELECT row_to_json(orders) FROM orders) TO STDOUT"
	piped := func(sql string, compress ...string) func(string) (sample, error) {
		return func(file string) (sample, error) {
			return e.pipeline(file, e.command("psql", "-qc", sql), e.command(compress[0], compress[1:]...),
				e.command(e.age, "-r", e.recipient))
		}
	}
	zstd := []string{"zstd", "-q", "-3", "-T0"}
	var benchmarks []benchmark
	for _, c := range []parallelCase{
		{
			name: "format=csv/compression=zstd", peer: piped(csv, zstd...),
			args: []string{"-r", e.recipient}, open: []string{"zstd", "-q", "-d"}, atMost: 0.40, same: true,
		},
		{
			name: "format=csv/compression=gzip", peer: piped(csv, "gzip"),
			args: []string{"-r", e.recipient, "-c", "gzip"}, open: []string{"gzip", "-d"}, atMost: 0.25, same: true,
		},
		{
			name: "format=csv/compression=none",
			peer: func(string) (sample, error) { return e.pipeline(os.DevNull, e.command("sh", "-c", byHand)) },
			args: []string{"--no-encrypt", "-c", "none"}, atMost: 1.1,
		},
		{
			name: "format=jsonl/compression=zstd", peer: piped(jsonl, zstd...),
			args: []string{"-r", e.recipient, "-f", "jsonl"}, open: []string{"zstd", "-q", "-d"}, atMost: 0.5,
		},
	} {
		c.exporter, c.rows = e, rows
		if err := c.check(); err != nil {
			return nil, err
		}
		benchmarks = append(benchmarks, c.benchmark())
	}
	return benchmarks, nil
}

// ranges is a script that has so many psqls print the table together, each an equal range of its pages.
func (e *exporter) ranges(psqls int) (string, error) {
	found, err := e.command("psql", "-qAtc", "SELECT pg_relation_size('orders') / 8192").Output()
	if err != nil {
		return "", err
	}
	pages, err := strconv.Atoi(strings.TrimSpace(string(found)))
	if err != nil {
		return "", err
	}
	var script strings.Builder
	for i := range psqls {
		where := fmt.Sprintf("ctid >= '(%d,0)'", pages*i/psqls)
		if i < psqls-1 {
			where += fmt.Sprintf(" AND ctid < '(%d,0)'", pages*(i+1)/psqls)
		}
		fmt.Fprintf(&script, "psql -qc \"COPY (SELECT * FROM orders WHERE %s) TO STDOUT (FORMAT csv)\" &\n", where)
	}
	return script.String() + "wait\n", nil
}

func (c parallelCase) benchmark() benchmark {
	settled := func(run func(string) (sample, error)) func() (sample, error) {
		return func() (sample, error) {
			file := filepath.Join(c.dir, "export")
			got, err := run(file)
			if err != nil || c.open == nil {
				return got, err
			}
			return got, settle(file)
		}
	}
	return benchmark{
		name: "Parallel/source=postgres/" + c.name,
		variants: []variant{
			{"impl=tools", settled(c.peer)},
			{"impl=culvert", settled(c.runCulvert)},
		},
		goals: []goal{
			{variant: "impl=culvert", peer: "impl=tools", unit: "ns/op", max: c.atMost},
			{variant: "impl=culvert", unit: "peak-bytes", max: 96 << 20},
		},
	}
}

func (c parallelCase) runCulvert(file string) (sample, error) {
	args := append([]string{"export", "postgres:", "orders", "-j", strconv.Itoa(parallelJobs), "-o", file}, c.args...)
	if c.open != nil {
		return c.pipeline("", c.command(c.culvert, args...))
	}
	// All go to the same place, which takes no time.
	args[len(args)-len(c.args)-1] = "-"
	return c.pipeline(os.DevNull, c.command(c.culvert, args...))
}

// check makes sure, by stock tools, that both ways give all rows, and the same ones where they are written the same.
func (c parallelCase) check() error {
	if c.open == nil {
		return nil
	}
	var found [2]lines
	for i, run := range []func(string) (sample, error){c.peer, c.runCulvert} {
		file := filepath.Join(c.dir, "export")
		if _, err := run(file); err != nil {
			return err
		}
		decrypt := c.command(c.age, "-d", "-i", c.identity, file)
		if err := found[i].addOutput(c.exporter, decrypt, c.command(c.open[0], c.open[1:]...)); err != nil {
			return err
		}
		if err := settle(file); err != nil {
			return err
		}
	}
	wanted := c.rows
	if c.same {
		wanted++ // the header
	}
	if found[0].count != wanted || found[1].count != wanted || c.same && found[0] != found[1] {
		return fmt.Errorf("%s: the tools export %d lines, and culvert %d, of %d", c.name,
			found[0].count, found[1].count, wanted)
	}
	c.say("%s: both ways give the same %d lines", c.name, wanted)
	return nil
}

// lines are what a file has, whatever their order.
type lines struct {
	count int
	sum   uint64 // of the hashes of all
}

var lineSeed = maphash.MakeSeed()

// addOutput adds what commands give that each read what the one before writes.
func (l *lines) addOutput(e *exporter, commands ...*exec.Cmd) error {
	plain := filepath.Join(e.dir, "plain")
	if _, err := e.pipeline(plain, commands...); err != nil {
		return err
	}
	return errors.Join(l.addFile(plain), settle(plain))
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
		l.sum += maphash.Bytes(lineSeed, line)
	}
}
