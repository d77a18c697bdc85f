package exports

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"culvert/bench/internal/harness"
)

// foreignTable has the rows of orders with characters that are not ASCII. A timestamp is in UTC, as SQLite has it.
const foreignTable = `CREATE TABLE foreign_orders AS SELECT id, customer, title || ' é' AS title, amount,
	created AT TIME ZONE 'UTC' AS created, done, attributes, note || ' ü' AS note FROM orders`

// foreignTarget is an empty table for them.
const foreignTarget = `CREATE TABLE orders (id bigint, customer integer, title text, amount numeric(12,2),
	created timestamp, done boolean, attributes jsonb, note text)`

// foreignSettings describe the file for culvert.
const foreignSettings = "delimiter=;,encoding=latin1"

// PrepareForeign compares culvert load of a file of another program, with semicolons and in latin1, with iconv and the
// tools of the databases.
func PrepareForeign(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s, durable)
	if err != nil {
		return nil, err
	}
	c := &loadCase{exporter: e, rows: s.Size(6_000_000, 20_000)}
	if _, err = e.fillOrders(c.rows); err != nil {
		return nil, err
	}
	file := filepath.Join(s.Dir, "foreign.csv")
	write := `\copy foreign_orders to '` + file + `' (format csv, header, delimiter ';', encoding 'latin1')`
	if err := c.sql(e.env, foreignTable, write); err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	c.size = info.Size()
	if c.wanted, err = c.tell(e.env, "foreign_orders"); err != nil {
		return nil, err
	}
	intoSQLite, err := c.foreignSQLite(file)
	return []harness.Benchmark{c.foreignPostgres(file), intoSQLite}, err
}

func (c *loadCase) foreignPostgres(file string) harness.Benchmark {
	table := c.orders(foreignTarget)
	iconv := c.command("iconv", "-f", "latin1", "-t", "utf-8", file)
	psql := c.inTarget("psql", "-qc", `\copy orders from pstdin (format csv, header, delimiter ';')`)
	return harness.Benchmark{
		Name:   "Foreign/to=postgres",
		Rotate: true,
		Variants: []harness.Variant{
			table.by("impl=tools", c.Piped("", iconv, psql)),
			table.by("impl=culvert", c.load("--csv", foreignSettings, file, "postgres:", "orders")),
			table.by("impl=culvert-j4", c.load("-j", "4", "--csv", foreignSettings, file, "postgres:", "orders")),
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=tools", Unit: "ns/op", Max: 1.05},
			{Variant: "impl=culvert-j4", Peer: "impl=tools", Unit: "ns/op", Max: 0.9},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}
}

// foreignSQLite compares with .import of SQLite's shell, which makes "" of NULL.
func (c *loadCase) foreignSQLite(file string) (harness.Benchmark, error) {
	database := filepath.Join(c.Dir, "foreign.db")
	table := filling{
		size: c.size,
		prepare: func() error {
			if err := harness.Settle(database); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return c.Run(c.command("sqlite3", database, sqliteTable))
		},
		tell: func() (string, error) {
			const sql = `SELECT count(*), sum(id), sum(length(title)), total(amount), count(nullif(note, ''))
				FROM orders`
			out, err := c.command("sqlite3", database, sql).Output()
			return string(out), err
		},
	}
	tools := c.Piped("", c.command("iconv", "-f", "latin1", "-t", "utf-8", file),
		c.command("sqlite3", "-bail", "-csv", "-separator", ";", database, ".import --skip 1 /dev/stdin orders"))
	if err := table.prepare(); err != nil {
		return harness.Benchmark{}, err
	}
	if _, err := (harness.Work{Bytes: c.size}).Between("client", nil, tools); err != nil {
		return harness.Benchmark{}, err
	}
	var err error
	if table.wanted, err = table.tell(); err != nil {
		return harness.Benchmark{}, err
	}
	return table.benchmark("Foreign/to=sqlite", 0.6, tools,
		c.Piped("", c.command(c.culvert, "load", "--csv", foreignSettings, file, database, "orders"))), nil
}
