package exports

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"culvert/bench/internal/harness"
)

// PrepareAcross compares culvert copy between systems, which reads all rows back and compares their values, with
// pgloader, which does not. Both make the tables, with their keys and indexes.
func PrepareAcross(s *harness.Session) ([]harness.Benchmark, error) {
	program, err := exec.LookPath("pgloader")
	if err != nil {
		s.Say("pgloader is not installed, and copies between systems are not compared")
		return nil, nil
	}
	e, err := newExporter(s, durable)
	if err != nil {
		return nil, err
	}
	c := &acrossCase{&loadCase{exporter: e}, program}
	maria, err := c.fromMariaDB(s.Size(3_000_000, 20_000))
	if err != nil {
		return nil, err
	}
	lite, err := c.fromSQLite(s.Size(1_000_000, 10_000))
	if err != nil {
		return nil, err
	}
	if len(maria.Variants) == 0 {
		return []harness.Benchmark{lite}, nil
	}
	return []harness.Benchmark{maria, lite}, nil
}

type acrossCase struct {
	*loadCase
	pgloader string
}

// rowsSQL tells of the rows, whatever the types of the columns: pgloader rounds REAL of SQLite. ofKeys tells
// of the keys.
const (
	rowsSQL = "SELECT count(*), sum(id), sum(char_length(title)) FROM orders"
	ofKeys  = "SELECT count(*) FILTER (WHERE contype = 'p'), count(*) FILTER (WHERE contype = 'f') FROM pg_constraint" +
		" WHERE connamespace <> 'pg_catalog'::regnamespace"
	// pgloader makes the tables in one of these.
	anywhere = "ALTER DATABASE target SET search_path = bench, main, public"
)

// across compares two commands that fill the target.
func (c *acrossCase) across(
	name string, size int64, wanted string, servers []*harness.Tree, theirs, ours *exec.Cmd,
) harness.Benchmark {
	table := filling{
		size: size, servers: append(slices.Clip(servers), c.database), wanted: wanted,
		prepare: func() error { return c.newTarget(anywhere) },
		tell: func() (string, error) {
			found, err := c.inTarget("psql", "-qAtF", "\t", "-c", rowsSQL, "-c", ofKeys).Output()
			return string(found), err
		},
	}
	return harness.Benchmark{
		Name:   name,
		Rotate: true,
		Variants: []harness.Variant{
			table.by("impl=pgloader", c.Piped("", theirs)), table.by("impl=culvert", c.Piped("", ours)),
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=pgloader", Unit: "ns/op", Max: 0.5},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}
}

// target is where pgloader finds the target.
func (c *acrossCase) target() string {
	home := strings.TrimPrefix(strings.Fields(c.server.ConnString(target))[0], "host=")
	return "postgresql://postgres@unix:" + home + ":5432/" + target
}

// load runs pgloader for a source.
func (c *acrossCase) load(source string) *exec.Cmd {
	return c.inTarget(c.pgloader, "--root-dir", filepath.Join(c.Dir, "pgloader"), "--quiet", source, c.target())
}

// keysOfMaria give the rows of MariaDB what tables have.
const keysOfMaria = `CREATE TABLE customers (id int PRIMARY KEY, name varchar(40) NOT NULL)
	SELECT DISTINCT customer AS id, concat('customer ', customer) AS name FROM orders;
ALTER TABLE orders MODIFY id bigint NOT NULL, ADD PRIMARY KEY (id), ADD KEY of_customer (customer, created),
	ADD KEY of_time (created), ADD CONSTRAINT by_customer FOREIGN KEY (customer) REFERENCES customers (id)`

func (c *acrossCase) fromMariaDB(rows int) (b harness.Benchmark, err error) {
	if _, err := exec.LookPath("mariadb"); err != nil {
		c.Say("MariaDB is not installed, and copies of it are not compared")
		return b, nil
	}
	server, err := c.MariaDB()
	if err != nil {
		return b, err
	}
	size, err := c.fillOrders(rows)
	if err != nil {
		return b, err
	}
	const source = "mysql://root@localhost/bench"
	file, query := filepath.Join(c.Dir, "maria.csv"), fmt.Sprintf(mariaQuery, rows)
	if err := errors.Join(
		c.Run(c.in(server.Env, "mariadb", "-e", mariaTable, "bench")),
		c.Run(c.command(c.culvert, "export", "postgres:", "-q", query, "--no-encrypt", "-o", file)),
		c.Run(c.in(server.Env, c.culvert, "load", file, source, "orders")),
		c.Run(c.in(server.Env, "mariadb", "-e", keysOfMaria, "bench")),
	); err != nil {
		return b, err
	}
	wanted, err := c.in(server.Env, "mariadb", "-Ne", rowsSQL, "bench").Output()
	if err != nil {
		return b, err
	}
	ours := c.inTarget(c.culvert, "copy", "-j", "2", source, "customers", "orders", "--create", "postgres:")
	ours.Env = append(ours.Env, "HOME="+c.Dir) // where the socket of MariaDB is named
	theirs := c.load("mysql://root@unix:" + server.Socket() + ":3306/bench")
	return c.across(fmt.Sprintf("Copy/from=mariadb/to=postgres/rows=%d", rows), size, string(wanted)+"2\t1\n",
		[]*harness.Tree{server.Tree}, theirs, ours), nil
}

func (c *acrossCase) fromSQLite(rows int) (b harness.Benchmark, err error) {
	made := filepath.Join(c.Dir, "across.db")
	fill := c.command("sqlite3", "-bail", made)
	fill.Stdin = strings.NewReader(harness.SqliteScript(rows) + "\nDROP TABLE words;")
	if err := c.Run(fill); err != nil {
		return b, err
	}
	var printed lines
	shell := c.command("sqlite3", "-csv", "-header", made, "SELECT * FROM orders")
	if err := printed.addOutput(c.exporter, shell); err != nil {
		return b, err
	}
	sql := strings.Replace(rowsSQL, "char_length", "length", 1)
	wanted, err := c.command("sqlite3", "-separator", "\t", made, sql).Output()
	if err != nil {
		return b, err
	}
	ours := c.inTarget(c.culvert, "copy", made, "orders", "--create", "postgres:")
	return c.across(fmt.Sprintf("Copy/from=sqlite/to=postgres/rows=%d", rows), printed.size, string(wanted)+"1\t0\n",
		nil, c.load("sqlite://"+made), ours), nil
}
