package main

import (
	"net"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit"
)

// TestPostgresFaults pins what happens when something becomes of a table, or of one of the connections that read it, or
// of the disk. The table is small where it lies and large where it is read: 800 MB, so that there is time for it.
func TestPostgresFaults(t *testing.T) {
	t.Parallel()
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Password: password})
	host, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t AS SELECT i, repeat('x', 65536) AS fill FROM generate_series(1, 12000) AS i")
	variables := []string{
		"PGHOST=" + host, "PGPORT=" + port, "PGUSER=postgres", "PGDATABASE=" + database.Name, "PGPASSWORD=" + password,
	}
	const ours = "SELECT FROM pg_stat_activity WHERE application_name = 'culvert' AND datname = current_database()"
	runScripts(t, "testdata/postgresfaults", variables, map[string]command{
		// meanwhile CODE PATTERN SQL COMMAND [ARGUMENT]... runs SQL, or restarts the server if it is "restart", once
		// four connections of the command are at work.
		"meanwhile": func(ts *testscript.TestScript, _ bool, args []string) {
			disturb(ts, args[0], args[1], args[3:], func(*os.Process) {
				testkit.WaitFor(testOf(ts), "four connections", func() bool {
					return len(database.Query(testOf(ts), ours+" AND state = 'active'")) == 4
				})
				if args[2] == "restart" {
					server.Stop(t)
					server.Start(t)
				} else {
					database.Exec(testOf(ts), args[2])
				}
			})
		},
		// gone waits until the server knows of no connection of a command.
		"gone": func(ts *testscript.TestScript, _ bool, _ []string) {
			testkit.WaitFor(testOf(ts), "the connections to end", func() bool {
				return len(database.Query(testOf(ts), ours)) == 0
			})
		},
	})
}
