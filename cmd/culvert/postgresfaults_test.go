package main

import (
	"net"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/lazyregexp"
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

// TestStandbyConflicts has a standby end exports, since the primary removes a row that their snapshots may still show.
func TestStandbyConflicts(t *testing.T) {
	t.Parallel()
	settings := []string{"wal_level = replica", "max_wal_senders = 4", "max_standby_streaming_delay = 0"}
	primary := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings})
	database := primary.NewDatabase(t)
	// A read of once takes long while the number of rows of t is odd.
	database.Exec(t, "CREATE TABLE t AS SELECT generate_series(1, 101) AS id; "+
		"CREATE VIEW once AS SELECT 1 AS id, CASE WHEN (SELECT count(*) FROM t) % 2 = 1 THEN pg_sleep(600)::text END; "+
		"CREATE VIEW always AS SELECT pg_sleep(600)::text")
	standby := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings, StandbyOf: primary})
	replica := &testkit.PostgresDatabase{Server: standby, Name: database.Name}
	remove := func() {
		database.Exec(t, "DELETE FROM t WHERE id = (SELECT min(id) FROM t)")
		database.Exec(t, "VACUUM t")
	}
	runScripts(t, "testdata/standby", []string{"STANDBY=" + standby.ConnString(database.Name)}, map[string]command{
		// conflict CODE COUNT PATTERN COMMAND [ARGUMENT]... has the standby end as many attempts of a command, which
		// prints what the pattern matches.
		"conflict": func(ts *testscript.TestScript, _ bool, args []string) {
			count, err := strconv.Atoi(args[1])
			ts.Check(err)
			var ended []string
			begun := func() bool {
				found := replica.Query(testOf(ts), "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
				if len(found) == 0 || slices.Contains(ended, found[0][0]) {
					return false
				}
				ended = append(ended, found[0][0])
				return true
			}
			output := during(ts, args[0], begun, args[3:], func(*os.Process) {
				remove()
				for range count - 1 {
					testkit.WaitFor(testOf(ts), "another attempt", begun)
					remove()
				}
			})
			if !lazyregexp.New(args[2]).MatchString(output) {
				ts.Fatalf("it does not print %s", args[2])
			}
			if rows := database.Query(testOf(ts), "SELECT FROM t"); len(rows)%2 == 0 {
				remove()
			}
			testkit.WaitFor(testOf(ts), "the replay", func() bool {
				return len(replica.Query(testOf(ts), "SELECT FROM t"))%2 == 1
			})
		},
	})
}
