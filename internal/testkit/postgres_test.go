package testkit_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/testkit"
)

func TestPostgresDatabases(t *testing.T) {
	server := testkit.Postgres(t)
	if testkit.Postgres(t) != server {
		t.Error("the second call gave another server")
	}
	a, b := server.NewDatabase(t), server.NewDatabase(t, "ENCODING SQL_ASCII TEMPLATE template0")
	a.Exec(t, "CREATE TABLE t (id bigint); INSERT INTO t VALUES (7)")
	if got := a.Query(t, "SELECT id, NULL FROM t"); len(got) != 1 || got[0][0] != "7" || got[0][1] != "" {
		t.Errorf("the table holds %q", got)
	}
	if got := a.Psql(t, "-Atc", "SELECT id FROM t"); string(got) != "7\n" {
		t.Errorf("psql printed %q", got)
	}
	if got := b.Query(t, "SELECT to_regclass('t') IS NULL"); got[0][0] != "t" {
		t.Error("a table of one database is in the other")
	}
	if got := b.Query(t, "SHOW server_encoding"); got[0][0] != "SQL_ASCII" {
		t.Errorf("the encoding is %q", got)
	}
}

func TestPostgresPassword(t *testing.T) {
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Password: "right"})
	connect := func(password string) error {
		connString := fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable", password, server.Address(t))
		conn, err := pgconn.Connect(context.Background(), connString)
		if err != nil {
			return err
		}
		return conn.Close(context.Background())
	}
	if err := connect("right"); err != nil {
		t.Error("with the right password:", err)
	}
	if err := connect("wrong"); err == nil || !strings.Contains(err.Error(), "28P01") {
		t.Errorf("with the wrong password: %v, want SQLSTATE 28P01", err)
	}
}

func TestPostgresStopKillStart(t *testing.T) {
	server := testkit.NewPostgres(t, testkit.PostgresConfig{})
	for _, test := range []struct {
		name string
		end  func(testing.TB)
	}{{"Stop", server.Stop}, {"Kill", server.Kill}} {
		ctx := context.Background()
		conn, err := pgconn.Connect(ctx, server.ConnString("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		test.end(t)
		if err := conn.Ping(ctx); err == nil {
			t.Errorf("after %s a session goes on", test.name)
		}
		if conn, err := pgconn.Connect(ctx, server.ConnString("postgres")); err == nil {
			t.Errorf("after %s a new session begins: %v", test.name, conn.Close(ctx))
		}
		server.Start(t)
		server.NewDatabase(t)
	}
	server.Kill(t)
}

// TestPostgresEnd runs this test binary again, ends it in many ways, and looks for what is left.
func TestPostgresEnd(t *testing.T) {
	if end := os.Getenv("CULVERT_TESTKIT_END"); end != "" {
		postgresEnd(t, end)
		return
	}
	testkit.Postgres(t) // skips the test if there is none
	for _, end := range []string{"return", "panic", "exit", "kill"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestPostgresEnd$")
			cmd.Env = append(os.Environ(), "CULVERT_TESTKIT_END="+end, "CULVERT_TEST_POSTGRES=")
			input, output := testkit.StartPiped(t, cmd)
			lines := bufio.NewScanner(output)
			found := false
			var directory string
			for !found && lines.Scan() {
				directory, found = strings.CutPrefix(lines.Text(), "directory ")
			}
			pid := postmaster(t, directory)
			var err error
			if end == "kill" {
				err = cmd.Process.Kill()
			} else {
				err = input.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			for lines.Scan() {
			}
			if err := cmd.Wait(); (err == nil) != (end == "return") {
				t.Fatalf("the other test binary ended with: %v", err)
			}
			testkit.WaitFor(t, "the server to end", func() bool { return !testkit.Alive(pid) })
			testkit.WaitFor(t, "its directory to go", func() bool {
				_, err := os.Stat(directory)
				return os.IsNotExist(err)
			})
		})
	}
}

// postgresEnd starts the shared server, tells where it is, and ends the process once standard input has ended.
func postgresEnd(t *testing.T, end string) {
	if _, err := fmt.Fprintln(os.Stdout, "directory", testkit.Postgres(t).Directory()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Fatal(err)
	}
	switch end {
	case "panic":
		panic("on purpose")
	case "exit":
		os.Exit(7) //nolint:forbidigo // the way to end that is tested
	}
}

// postmaster reads the process number of a server.
func postmaster(t *testing.T, directory string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(directory, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	if !testkit.Alive(pid) {
		t.Fatal("the server is not alive to begin with")
	}
	return pid
}

// TestPostgresSessions has each statement see what one of a new session sees.
func TestPostgresSessions(t *testing.T) {
	db := testkit.Postgres(t).NewDatabase(t)
	pid := func() string { return db.Query(t, "SELECT pg_backend_pid()")[0][0] }
	first := pid()
	db.Exec(t, "SET work_mem = '77kB'; CREATE TEMP TABLE t (id int); SELECT pg_advisory_lock(7)")
	const left = `SELECT current_setting('work_mem') = '77kB', to_regclass('t') IS NOT NULL,
		(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())`
	if got := db.Query(t, left)[0]; got[0] != "f" || got[1] != "f" || got[2] != "0" {
		t.Errorf("a session leaves %q", got)
	}
	if pid() != first {
		t.Error("a session is not used again")
	}
	db.Exec(t, "ALTER DATABASE "+db.Name+" SET work_mem = '88kB'")
	if got := db.Query(t, "SHOW work_mem")[0][0]; got != "88kB" {
		t.Errorf("the setting is %s", got)
	}
	db.Exec(t, "BEGIN")
	if got := db.Query(t, "SELECT now() = statement_timestamp()")[0][0]; got != "t" {
		t.Error("a transaction goes on")
	}
	if err := db.Try("SELECT 1 / 0"); err == nil {
		t.Error("an error is lost")
	}
	if first = pid(); db.Psql(t, "-c", "SELECT pg_terminate_backend("+first+", 60000)") == nil || pid() == first {
		t.Error("an ended session is used again")
	}
}
