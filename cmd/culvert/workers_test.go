package main

import (
	"context"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
)

// TestWorkerScripts runs the scripts of exports by several processes, with a PostgreSQL server and NATS servers.
func TestWorkerScripts(t *testing.T) {
	t.Parallel()
	runWorkerScripts(t, "testdata/workers")
}

// TestResume has a server of its own for each script, since any change of a server may be one of the tables.
func TestResume(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"testdata/resume", "testdata/resumechosen"} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			runWorkerScripts(t, dir)
		})
	}
}

// TestWorkersPages runs the commands of the documentation that need both a database and a bucket.
func TestWorkersPages(t *testing.T) {
	t.Parallel()
	runBucketScripts(t, stores.S3(t), "testdata/workerspages", workerCommands(t))
}

func runWorkerScripts(t *testing.T, dir string) {
	t.Helper()
	runScripts(t, dir, nil, workerCommands(t))
}

// workerCommands are those of scripts with several processes, and a PostgreSQL server for them.
func workerCommands(t *testing.T) map[string]command {
	t.Helper()
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Password: password})
	host, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	commands := queueCommands(t)
	maps.Copy(commands, map[string]command{
		"sql": func(ts *testscript.TestScript, _ bool, args []string) {
			db := testkit.PostgresDatabase{Server: server, Name: ts.Getenv("PGDATABASE")}
			for _, statements := range args {
				db.Exec(testOf(ts), statements)
			}
		},
		"newdatabase": func(ts *testscript.TestScript, _ bool, args []string) {
			db := server.NewDatabase(testOf(ts))
			for variable, value := range map[string]string{
				"PGHOST": host, "PGPORT": port, "PGUSER": "postgres", "PGPASSWORD": password, "PGDATABASE": db.Name,
			} {
				ts.Setenv(variable, value)
			}
			for _, file := range args {
				db.Exec(testOf(ts), ts.ReadFile(file))
			}
		},
		// stuck runs a command, and sends it a signal once there is a file whose name matches a pattern. Until then it
		// cannot go beyond a row with a dictionary of text search, whose name PostgreSQL looks up where it is locked:
		//
		//	stuck CODE SIGNAL PATTERN COMMAND [ARGUMENT]...
		"stuck": func(ts *testscript.TestScript, _ bool, args []string) {
			db := testkit.PostgresDatabase{Server: server, Name: ts.Getenv("PGDATABASE")}
			holder, err := pgconn.Connect(t.Context(), db.ConnString())
			ts.Check(err)
			defer holder.Close(context.Background())
			ts.Check(holder.Exec(t.Context(), "BEGIN; LOCK TABLE pg_ts_dict IN ACCESS EXCLUSIVE MODE").Close())
			disturb(ts, args[0], args[2], args[3:], func(process *os.Process) {
				ts.Check(process.Signal(map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill}[args[1]]))
			})
		},
		// await waits until a file has text that matches a pattern:
		//
		//	await FILE PATTERN
		"await": func(ts *testscript.TestScript, _ bool, args []string) {
			pattern := regexp.MustCompile(args[1])
			patience := time.After(time.Minute)
			for poll := time.NewTicker(10 * time.Millisecond); ; {
				text, err := os.ReadFile(ts.MkAbs(args[0]))
				if err == nil && pattern.Match(text) {
					poll.Stop()
					return
				}
				select {
				case <-poll.C:
				case <-patience:
					ts.Fatalf("%s does not have %s: %s", args[0], args[1], text)
				}
			}
		},
		// urlwith puts the URL of the server, with a token, into NATS_URL.
		"urlwith": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Setenv("NATS_URL", strings.Replace(ts.Getenv("QUEUE"), "//", "//"+args[0]+"@", 1))
		},
	})
	return commands
}
