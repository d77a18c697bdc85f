package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit"
)

const password = "hunter22"

// TestPostgresScripts runs the scripts that need a PostgreSQL server. Scripts run in their own databases.
func TestPostgresScripts(t *testing.T) {
	t.Parallel()
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Password: password})
	host, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	variables := []string{"PGHOST=" + host, "PGPORT=" + port, "PGUSER=postgres", "PGPASSWORD=" + password}
	runScripts(t, "testdata/postgres", variables, map[string]command{
		// sql STATEMENTS runs them in the database of the script.
		"sql": func(ts *testscript.TestScript, _ bool, args []string) {
			db := testkit.PostgresDatabase{Server: server, Name: ts.Getenv("PGDATABASE")}
			for _, statements := range args {
				db.Exec(testOf(ts), statements)
			}
		},
		"newdatabase": func(ts *testscript.TestScript, _ bool, args []string) {
			db := server.NewDatabase(testOf(ts))
			ts.Setenv("PGDATABASE", db.Name)
			for _, file := range args {
				db.Exec(testOf(ts), ts.ReadFile(file))
			}
		},
	})
}

// TestPooler runs the scripts in which PgBouncer is in front of the server.
func TestPooler(t *testing.T) {
	t.Parallel()
	server := testkit.Postgres(t)
	variables := []string{"PGHOST=" + filepath.Dir(server.SocketPath()), "PGUSER=postgres", "PGSSLMODE=disable"}
	runScripts(t, "testdata/pooler", variables, map[string]command{
		"newdatabase": func(ts *testscript.TestScript, _ bool, args []string) {
			db := server.NewDatabase(testOf(ts))
			ts.Setenv("PGDATABASE", db.Name)
			for _, file := range args {
				db.Exec(testOf(ts), ts.ReadFile(file))
			}
		},
		// pooler MODE lets the commands that follow reach the server by a pooler.
		"pooler": func(ts *testscript.TestScript, _ bool, args []string) {
			db := testkit.PostgresDatabase{Server: server, Name: ts.Getenv("PGDATABASE")}
			config, err := pgconn.ParseConfig(testkit.PgBouncer(testOf(ts), &db, args[0]))
			ts.Check(err)
			ts.Setenv("PGHOST", config.Host)
			ts.Setenv("PGPORT", fmt.Sprint(config.Port))
		},
	})
}

// TestPostgresKilled pins what happens when the server dies while it is read. Each script has its own.
func TestPostgresKilled(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"testdata/killed", "testdata/killedtables"} {
		t.Run(filepath.Base(dir), func(t *testing.T) { testKilled(t, dir) })
	}
}

func testKilled(t *testing.T, dir string) {
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Password: password})
	host, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int); CREATE VIEW endless AS SELECT * FROM generate_series(1, 1000000000)")
	variables := []string{
		"PGHOST=" + host, "PGPORT=" + port, "PGUSER=postgres", "PGDATABASE=" + database.Name, "PGPASSWORD=" + password,
	}
	runScripts(t, dir, variables, map[string]command{
		// killserver CODE PATTERN COMMAND [ARGUMENT]...
		"killserver": func(ts *testscript.TestScript, _ bool, args []string) {
			disturb(ts, args[0], args[1], args[2:], func(*os.Process) { server.Kill(t) })
		},
	})
}
