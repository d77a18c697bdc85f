package main

import (
	"net"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit"
)

// TestMySQLScripts runs the scripts that need a MariaDB server. Scripts run in their own databases.
func TestMySQLScripts(t *testing.T) {
	t.Parallel()
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Password: password})
	host, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	variables := []string{
		"MYSQL_HOST=" + host, "MYSQL_TCP_PORT=" + port, "MYSQL_PWD=" + password, "SOCKET=" + server.SocketPath(),
	}
	runScripts(t, "testdata/mysql", variables, map[string]command{
		// sql STATEMENTS runs them in the database of the script.
		"sql": func(ts *testscript.TestScript, _ bool, args []string) {
			db := testkit.MariaDBDatabase{Server: server, Name: ts.Getenv("DATABASE")}
			for _, statements := range args {
				db.Exec(testOf(ts), statements)
			}
		},
		"newdatabase": func(ts *testscript.TestScript, _ bool, args []string) {
			db := server.NewDatabase(testOf(ts))
			ts.Setenv("DATABASE", db.Name)
			for _, file := range args {
				db.Exec(testOf(ts), ts.ReadFile(file))
			}
		},
	})
}

// TestMySQLKilled pins what happens when the server dies while it is read.
func TestMySQLKilled(t *testing.T) {
	t.Parallel()
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Password: password})
	host, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	variables := []string{"MYSQL_HOST=" + host, "MYSQL_TCP_PORT=" + port, "MYSQL_PWD=" + password}
	runScripts(t, "testdata/mysqlkilled", variables, map[string]command{
		// killserver CODE PATTERN COMMAND [ARGUMENT]...
		"killserver": func(ts *testscript.TestScript, _ bool, args []string) {
			disturb(ts, args[0], args[1], args[2:], func(*os.Process) { server.Kill(t) })
		},
	})
}
