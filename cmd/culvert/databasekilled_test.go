package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/testkit"
)

// killedDatabase is a database that is made again by a program that is killed.
type killedDatabase struct {
	from, to string
	asks     func(t *testing.T, table string) bool // whether a table of the target has rows
	dumps    func(t *testing.T) (was, is string)
}

// killedSQL are a small table and a large one, in words of MariaDB and SQLite, and what follows the rows.
var killedSQL = []string{
	"CREATE TABLE few (id int PRIMARY KEY, fill text)",
	"CREATE TABLE many (id int PRIMARY KEY, few int, fill varchar(200), FOREIGN KEY (few) REFERENCES few (id))",
	"INSERT INTO few WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, i FROM n",
	`INSERT INTO many SELECT a.id * 1000 + b.id, a.id,
		'some text of each row, so that there is much to be read and written' FROM few a JOIN few b ON b.id <= 60`,
	"CREATE INDEX of_fill ON many (fill, id)",
	"CREATE VIEW seen AS SELECT count(*) AS n FROM many",
}

// killedAt are the tables that get rows when the program has come to each of the phases.
var killedAt = []string{"culvert_restore", "few", "many"}

// TestDatabaseKilled kills a load and a copy of a whole database before the rows, in them, and after them, and runs the
// same command again each time.
func TestDatabaseKilled(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *killedDatabase{
		"MariaDB": killedMariaDB, "SQLite": killedSQLite,
	} {
		for _, way := range []string{"load", "copy"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				d, dir := open(t), t.TempDir()
				runKilled(t, dir, nil, "keygen")
				args := []string{"copy", d.from, "--all", "--create", d.to}
				if way == "load" {
					runKilled(t, dir, nil, "export", d.from, "--all", "-o", "backup")
					args = []string{"load", "--create", "backup", d.to}
				}
				for _, table := range killedAt {
					runKilled(t, dir, func() bool { return d.asks(t, table) }, args...)
					if !d.asks(t, killedAt[0]) {
						break // it has come to its end before it was killed
					}
				}
				if d.asks(t, killedAt[0]) {
					runKilled(t, dir, nil, args...)
				}
				if d.asks(t, killedAt[0]) {
					t.Error("what was done is still recorded")
				}
				if was, is := d.dumps(t); was != is {
					t.Errorf("the database is\n%.3000s\nwant\n%.3000s", is, was)
				}
			})
		}
	}
}

// runKilled runs a command, and kills it when something is so, unless it ends before. It must not fail.
func runKilled(t *testing.T, dir string, when func() bool, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "culvert", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for killed := false; ; {
		select {
		case err := <-ended:
			if err != nil && !killed {
				t.Fatalf("%q: %v: %s", args, err, said.String())
			}
			return
		case <-poll.C:
			if when != nil && !killed && when() {
				killed = true
				_ = cmd.Process.Kill() // or it has ended
			}
		}
	}
}

func killedMariaDB(t *testing.T) *killedDatabase {
	server := testkit.MariaDB(t)
	was, is := server.NewDatabase(t), server.NewDatabase(t)
	for _, sql := range append(killedSQL, "CREATE SEQUENCE numbers START WITH 7",
		"CREATE TRIGGER fires BEFORE INSERT ON few FOR EACH ROW SET NEW.fill = 'fired'") {
		was.Exec(t, sql)
	}
	return &killedDatabase{
		from: was.URL(), to: is.URL(),
		asks: func(t *testing.T, table string) bool {
			if len(is.Query(t, "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND "+
				"TABLE_NAME = '"+table+"'")) == 0 {
				return false
			}
			return len(is.Query(t, "SELECT 1 FROM "+table+" LIMIT 1")) > 0
		},
		dumps: func(t *testing.T) (string, string) { return was.DumpRows(t), is.DumpRows(t) },
	}
}

func killedSQLite(t *testing.T) *killedDatabase {
	dir := t.TempDir()
	was, is := filepath.Join(dir, "was.db"), filepath.Join(dir, "is.db")
	open := func(path string) *sqlite3.Conn {
		conn, err := sqlite3.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	conn := open(was)
	for _, sql := range append(killedSQL, "CREATE TRIGGER fires AFTER INSERT ON few BEGIN DELETE FROM few; END",
		"PRAGMA user_version = 7") {
		if err := conn.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(conn.Close(), os.WriteFile(is, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	const dumpSQL = `SELECT (SELECT group_concat(type || name || sql, char(10)) FROM (SELECT * FROM sqlite_schema
			ORDER BY name)) || char(10) || (SELECT user_version FROM pragma_user_version) || char(10) ||
		(SELECT group_concat(id || few || fill, char(10)) FROM (SELECT * FROM many ORDER BY id)) || char(10) ||
		(SELECT group_concat(id || fill, char(10)) FROM (SELECT * FROM few ORDER BY id))`
	first := func(conn *sqlite3.Conn, sql string) (text string) {
		stmt, _, err := conn.Prepare(sql)
		if err != nil {
			return "" // there is no such table yet, or a writer has the file
		}
		defer stmt.Close()
		if stmt.Step() {
			text = stmt.ColumnText(0)
		}
		return text
	}
	ask := func(path, sql string) string {
		conn := open(path)
		defer conn.Close()
		return first(conn, sql)
	}
	return &killedDatabase{
		from: was, to: is,
		asks:  func(_ *testing.T, table string) bool { return ask(is, "SELECT 1 FROM "+table+" LIMIT 1") != "" },
		dumps: func(*testing.T) (string, string) { return ask(was, dumpSQL), ask(is, dumpSQL) },
	}
}
