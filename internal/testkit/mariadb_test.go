package testkit_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"culvert/internal/testkit"
)

func TestMariaDBDatabases(t *testing.T) {
	server := testkit.MariaDB(t)
	if testkit.MariaDB(t) != server {
		t.Error("the second call gave another server")
	}
	a, b := server.NewDatabase(t), server.NewDatabase(t)
	a.Exec(t, "CREATE TABLE t (id bigint); INSERT INTO t VALUES (7)")
	if got := a.Query(t, "SELECT id, NULL FROM t"); len(got) != 1 || got[0][0] != "7" || got[0][1] != "" {
		t.Errorf("the table holds %q", got)
	}
	if got := a.Client(t, "--batch", "--skip-column-names", "-e", "SELECT id FROM t"); string(got) != "7\n" {
		t.Errorf("the client printed %q", got)
	}
	if got := b.Query(t, "SHOW TABLES"); len(got) != 0 {
		t.Error("a table of one database is in the other")
	}
}

func TestMariaDBStopKillStart(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Password: `it's \ one`})
	db := server.NewDatabase(t)
	db.Exec(t, "CREATE TABLE t (id bigint); INSERT INTO t VALUES (7)")
	for _, end := range []func(testing.TB){server.Stop, server.Kill} {
		pid := mariaDBProcess(t, server.Directory())
		end(t)
		if testkit.Alive(pid) {
			t.Error("the server goes on")
		}
		server.Start(t)
		if got := db.Query(t, "SELECT id FROM t"); len(got) != 1 {
			t.Errorf("the table holds %q", got)
		}
	}
	server.Kill(t)
}

// TestMariaDBEnd runs this test binary again, ends it in many ways, and looks for what is left.
func TestMariaDBEnd(t *testing.T) {
	if end := os.Getenv("CULVERT_TESTKIT_END"); end != "" {
		mariaDBEnd(t, end)
		return
	}
	testkit.MariaDB(t) // skips the test if there is none
	for _, end := range []string{"return", "panic", "kill"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestMariaDBEnd$")
			cmd.Env = append(os.Environ(), "CULVERT_TESTKIT_END="+end, "CULVERT_TEST_MARIADB=")
			input, output := testkit.StartPiped(t, cmd)
			lines := bufio.NewScanner(output)
			found := false
			var directory string
			for !found && lines.Scan() {
				directory, found = strings.CutPrefix(lines.Text(), "directory ")
			}
			pid := mariaDBProcess(t, directory)
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

// mariaDBEnd starts the shared server, tells where it is, and ends the process once standard input has ended.
func mariaDBEnd(t *testing.T, end string) {
	if _, err := fmt.Fprintln(os.Stdout, "directory", testkit.MariaDB(t).Directory()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Fatal(err)
	}
	if end == "panic" {
		panic("on purpose")
	}
}

// mariaDBProcess reads the process number of a server.
func mariaDBProcess(t *testing.T, directory string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(directory, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	if !testkit.Alive(pid) {
		t.Fatal("the server is not alive to begin with")
	}
	return pid
}
