package exports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"culvert/bench/internal/harness"
)

// sqliteTable is an empty table for the rows of harness.SqliteScript.
const sqliteTable = `CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, title TEXT, amount REAL,
	created TEXT, done INTEGER, attributes TEXT, note TEXT)`

// sqlite compares a load into a new database file with .import of SQLite's shell, which makes "" of NULL.
func (c *loadCase) sqlite() (harness.Benchmark, error) {
	made, file := filepath.Join(c.Dir, "made.db"), filepath.Join(c.Dir, "sqlite.csv.zst.age")
	database := filepath.Join(c.Dir, "loaded.db")
	rows := c.Size(1_000_000, 10_000)
	fill := c.command("sqlite3", "-bail", made)
	fill.Stdin = strings.NewReader(harness.SqliteScript(rows))
	if err := errors.Join(
		c.Run(fill),
		c.Run(c.command(c.culvert, "export", made, "orders", "-r", c.recipient, "-o", file)),
	); err != nil {
		return harness.Benchmark{}, err
	}
	var printed lines
	shell := c.command("sqlite3", "-csv", "-header", made, "SELECT * FROM orders")
	if err := printed.addOutput(c.exporter, shell); err != nil {
		return harness.Benchmark{}, err
	}
	sum := func(database string) (string, error) {
		const sql = "SELECT count(*), sum(id), sum(length(title)), total(amount), count(nullif(note, '')) FROM orders"
		out, err := c.command("sqlite3", database, sql).Output()
		return string(out), err
	}
	wanted, err := sum(made)
	if err != nil {
		return harness.Benchmark{}, err
	}
	table := filling{
		size: printed.size, wanted: wanted,
		prepare: func() error {
			if err := harness.Settle(database); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return c.Run(c.command("sqlite3", database, sqliteTable))
		},
		tell: func() (string, error) { return sum(database) },
	}
	tool := c.command("sqlite3", "-bail", database, ".import --csv --skip 1 /dev/stdin orders")
	return table.benchmark(fmt.Sprintf("Load/to=sqlite/rows=%d", rows), 0.7, c.opened(file, tool),
		c.Piped("", c.command(c.culvert, "load", "-i", c.identity, file, database, "orders"))), nil
}

// mariaTable is an empty table for the rows of orders. MariaDB has no time zone in a column.
const mariaTable = `CREATE TABLE orders (id bigint, customer int, title text, amount decimal(12,2),
	created datetime(3), done tinyint, attributes longtext, note text)`

// mariaQuery reads the rows as MariaDB takes them.
const mariaQuery = `SELECT id, customer, title, amount, to_char(created AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')
	AS created, done::int, attributes, note FROM orders WHERE id <= %d`

// mariaDB compares a load into MariaDB with its own tool, which makes "" of NULL. Several connections need a table with
// a key.
func (c *loadCase) mariaDB() (b harness.Benchmark, err error) {
	if _, err := exec.LookPath("mariadb-import"); err != nil {
		c.Say("MariaDB is not installed, and loads into it are not compared")
		return b, nil
	}
	server, err := c.MariaDB()
	if err != nil {
		return b, err
	}
	const keyed = mariaTable + "; ALTER TABLE orders ADD PRIMARY KEY (id)"
	rows, file := c.Size(1_000_000, 10_000), filepath.Join(c.Dir, "maria.csv.zst.age")
	query := fmt.Sprintf(mariaQuery, rows)
	stdin := filepath.Join(c.Dir, "orders.txt") // mariadb-import takes the name of the table from it
	empty := func() error {
		return c.Run(c.in(server.Env, "mariadb", "-e", "DROP TABLE IF EXISTS orders; "+keyed, "bench"))
	}
	if err := errors.Join(
		c.Run(c.command(c.culvert, "export", "postgres:", "-q", query, "-r", c.recipient, "-o", file)),
		os.Symlink("/dev/stdin", stdin),
		empty(),
	); err != nil {
		return b, err
	}
	var printed lines
	decrypt := c.command(c.age, "-d", "-i", c.identity, file)
	if err := printed.addOutput(c.exporter, decrypt, c.command("zstd", "-q", "-d")); err != nil {
		return b, err
	}
	load := []string{"load", "-i", c.identity, file, "mysql://root@localhost/bench", "orders"}
	const sql = "SELECT count(*), sum(id), sum(char_length(title)), sum(amount) FROM orders"
	wanted, err := c.command("psql", "-qAtF", "\t", "-c", sql+fmt.Sprintf(" WHERE id <= %d", rows)).Output()
	if err != nil {
		return b, err
	}
	table := filling{
		size: printed.size, servers: []*harness.Tree{server.Tree}, prepare: empty, wanted: string(wanted),
		tell: func() (string, error) {
			found, err := c.in(server.Env, "mariadb", "-Ne", sql, "bench").Output()
			return string(found), err
		},
	}
	tool := c.in(server.Env, "mariadb-import", "--local", "--ignore-lines=1", "--fields-terminated-by=,",
		`--fields-optionally-enclosed-by="`, "--fields-escaped-by=", "bench", stdin)
	one, several := c.in(server.Env, c.culvert, load...), c.in(server.Env, c.culvert, append(load, "-j", "4")...)
	b = table.benchmark(fmt.Sprintf("Load/to=mariadb/rows=%d", rows), 0.9, c.opened(file, tool), c.Piped("", several))
	b.Variants = append(b.Variants, table.by("impl=culvert-one", c.Piped("", one)))
	return b, nil
}
