//go:build unix

package testkit_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"culvert/internal/testkit"
)

// TestMariaDBNeverAnswers has a server hang while it starts. Nothing of it may stay when it is given up.
func TestMariaDBNeverAnswers(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	if len(processes(t, server)) == 0 {
		testkit.Missing(t, "/proc", "run the tests on Linux")
	}
	server.Stop(t)
	fifo := filepath.Join(server.Directory(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.StartInVain("--init-file=" + fifo); err == nil {
		t.Error("a server that reads a pipe to which nobody writes has started")
	}
	if left := processes(t, server); len(left) > 0 {
		t.Errorf("there are still %q", left)
	}
	server.Start(t)
}

// processes are the command lines of what runs on the data of a server.
func processes(t *testing.T, server *testkit.MariaDBServer) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), "--datadir="+server.Directory()) { // else it has just ended
			found = append(found, string(line))
		}
	}
	return found
}
