package exports

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"culvert/bench/internal/harness"
)

// severalDatabase is the database with the tables that are loaded or copied together.
const severalDatabase = "several"

// tables compares a load of several tables with indexes with pg_restore, which reads a dump of them.
func (c *loadCase) tables() (harness.Benchmark, error) {
	several := c.into(severalDatabase)
	if err := c.sql(c.env, "CREATE DATABASE "+severalDatabase); err != nil {
		return harness.Benchmark{}, err
	}
	for i := range severalTables {
		name := severalTable(i)
		err := errors.Join(c.FillTable(several, name, c.rows/severalTables),
			c.sql(several, "ALTER TABLE "+name+" ADD PRIMARY KEY (id)", "CREATE INDEX ON "+name+" (customer, created)"))
		if err != nil {
			return harness.Benchmark{}, err
		}
	}
	jobs := strconv.Itoa(parallelJobs)
	dump, exported := filepath.Join(c.Dir, "dump"), filepath.Join(c.Dir, "several")
	if err := errors.Join(
		c.Run(c.in(several, "pg_dump", "-Fd", "-j", jobs, "-f", dump)),
		c.Run(c.in(several, c.culvert, "export", "postgres:", "--all", "-j", jobs, "-r", c.recipient, "-o", exported)),
	); err != nil {
		return harness.Benchmark{}, err
	}
	tables, err := c.filledTables(c.into(target), func() error { return c.newTarget() }, c.database)
	if err != nil {
		return harness.Benchmark{}, err
	}
	return harness.Benchmark{
		Name:   fmt.Sprintf("Load/to=postgres/tables=%d", severalTables),
		Rotate: true,
		Variants: []harness.Variant{
			tables.by("impl=pg_restore", func() (harness.Sample, error) {
				return withoutPeak(c.Pipeline("", c.inTarget("pg_restore", "-j", jobs, "-d", target, dump)))
			}),
			tables.by("impl=culvert", c.load("--create", "--from", "anyone", "--jobs", jobs, exported, "postgres:")),
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=pg_restore", Unit: "ns/op", Max: 0.9},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}, nil
}

func severalTable(i int) string { return fmt.Sprintf("orders_%d", i+1) }

// withoutPeak leaves out the memory of a program whose other processes are not watched.
func withoutPeak(got harness.Sample, err error) (harness.Sample, error) {
	for unit := range got {
		if strings.HasSuffix(unit, "peak-bytes") {
			delete(got, unit)
		}
	}
	return got, err
}

// filledTables are the tables of another database, with the rows of severalDatabase.
func (c *loadCase) filledTables(to []string, prepare func() error, servers ...*harness.Tree) (filling, error) {
	tell := func(env []string) (string, error) {
		var all []string
		for i := range severalTables {
			found, err := c.tell(env, severalTable(i))
			if err != nil {
				return "", err
			}
			all = append(all, found)
		}
		return strings.Join(all, " "), nil
	}
	wanted, err := tell(c.into(severalDatabase))
	return filling{c.size, servers, prepare, func() (string, error) { return tell(to) }, wanted}, err
}

// copies compares a copy of several tables to another server with pgcopydb. The tables exist, without indexes: neither
// makes them.
func (c *loadCase) copies() (b harness.Benchmark, err error) {
	program, err := exec.LookPath("pgcopydb")
	if err != nil {
		c.Say("pgcopydb is not installed, and culvert copy is not compared")
		return b, nil
	}
	other, err := c.Postgres(durable)
	if err != nil {
		return b, err
	}
	schema := filepath.Join(c.Dir, "schema.sql")
	dump := c.command("pg_dump", "-f", schema, "--section=pre-data", "-d", severalDatabase)
	if err := c.Run(dump); err != nil {
		return b, err
	}
	prepare := func() error {
		if err := c.sql(other.Env, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public"); err != nil {
			return err
		}
		return c.Run(c.in(other.Env, "psql", "-qf", schema, "-c", "CHECKPOINT"))
	}
	source, into := c.server.ConnString(severalDatabase), other.ConnString("postgres")
	jobs := strconv.Itoa(parallelJobs)
	work := filepath.Join(c.Dir, "pgcopydb")
	tables, err := c.filledTables(other.Env, prepare, other.Tree, c.database)
	if err != nil {
		return b, err
	}
	culvert := func(more ...string) harness.Run {
		args := []string{"copy", "postgres:" + source, "--all", "--jobs", jobs}
		return c.Piped("", c.command(c.culvert, append(append(args, more...), "postgres:"+into)...))
	}
	return harness.Benchmark{
		Name:   fmt.Sprintf("Copy/to=postgres/tables=%d", severalTables),
		Rotate: true,
		Variants: []harness.Variant{
			tables.by("impl=pgcopydb", func() (harness.Sample, error) {
				got, err := withoutPeak(c.Pipeline("", c.command(program, "copy", "table-data", "--source", source,
					"--target", into, "--table-jobs", jobs, "--dir", work)))
				return got, errors.Join(err, os.RemoveAll(work))
			}),
			tables.by("impl=culvert", culvert()),
			tables.by("impl=culvert-unverified", culvert("--no-verify")),
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=pgcopydb", Unit: "ns/op", Max: 1},
			{Variant: "impl=culvert-unverified", Peer: "impl=pgcopydb", Unit: "ns/op", Max: 1},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}, nil
}
