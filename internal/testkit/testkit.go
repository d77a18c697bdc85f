// Package testkit helps the tests of several packages. It starts PostgreSQL and MariaDB servers, and limits allocations
// and peak memory.
//
//	db := testkit.Postgres(t).NewDatabase(t)
//	db.Exec(t, "CREATE TABLE t (id bigint)")
//	src, err := postgres.OpenSource(ctx, db.ConnString())
//
// Only tests import it.
package testkit

import (
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Missing ends a test that needs something that is not installed. With CULVERT_TEST_ALL=1 in the environment the test
// fails; otherwise it is skipped. The message says what is missing and how to install it.
func Missing(tb testing.TB, what, install string) {
	tb.Helper()
	if os.Getenv("CULVERT_TEST_ALL") == "1" {
		tb.Fatalf("%s is missing, and CULVERT_TEST_ALL=1 lets no test be skipped; to install it: %s", what, install)
	}
	tb.Skipf("skipped: %s is missing; to install it: %s", what, install)
}

// Soak reports whether tests run in their long form, as `./dev soak` runs them: the same checks with more rounds,
// larger files, and more places at which something is cut. Without it a test takes seconds, and finds what a change
// broke.
func Soak() bool { return os.Getenv("CULVERT_TEST_SOAK") == "1" }

// RunsLong reports whether tests run that take long.
func RunsLong() bool { return os.Getenv("CULVERT_TEST_ALL") == "1" || Soak() }

// Long skips a test that takes long and that few changes can break. With CULVERT_TEST_ALL=1 and in ./dev soak, it does
// nothing.
func Long(tb testing.TB) {
	tb.Helper()
	if !RunsLong() {
		tb.Skip("skipped: it takes long; to run it: CULVERT_TEST_ALL=1, or ./dev soak")
	}
}

// AtOnce lets a test binary run a number of its parallel tests at a time, for TestMain of packages whose tests mostly
// wait: for servers, limits of time, or other processes. There would be as many as processors. Arguments of the test
// binary override it.
func AtOnce(count int) {
	if err := flag.Set("test.parallel", strconv.Itoa(count)); err != nil {
		panic(err) // TestMain has it
	}
}

// keepLog keeps the log of a server that a failed test has used, in the directory CULVERT_TEST_LOGS of the environment,
// which ./dev test sets.
func keepLog(tb testing.TB, server, log string) {
	directory := os.Getenv("CULVERT_TEST_LOGS")
	if !tb.Failed() || directory == "" {
		return
	}
	text, err := os.ReadFile(log)
	if err != nil {
		tb.Log("no log of the server:", err)
		return
	}
	kept := filepath.Join(directory, strings.ReplaceAll(tb.Name(), "/", "-")+"-"+server+".log")
	if err := os.WriteFile(kept, text, 0o600); err != nil {
		tb.Error(err)
	}
	tb.Log("the log of the server:", kept)
}

// Address returns a host and port that is reserved until the end of the test. Servers of the test can listen there, one
// after the other. While none does, connections are refused.
func Address(tb testing.TB) string {
	tb.Helper()
	port, release, err := reservePort()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := release(); err != nil {
			tb.Error(err)
		}
	})
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// ReservePorts returns loopback ports like those of [Address], reserved until the test binary ends.
func ReservePorts(count int) (ports []string, err error) {
	for range count {
		port, _, err := reservePort() // the end of the process releases it
		if err != nil {
			return nil, err
		}
		ports = append(ports, strconv.Itoa(port))
	}
	return ports, nil
}

// StartPiped starts a command and returns pipes to its standard input and from its standard output.
func StartPiped(tb testing.TB, cmd *exec.Cmd) (stdin io.WriteCloser, stdout io.ReadCloser) {
	tb.Helper()
	stdin, err := cmd.StdinPipe()
	if err == nil {
		stdout, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return stdin, stdout
}

// MaskKey is the text of a key of masks. It is the same in every run, so that no masked value is one that is searched
// for by chance.
const MaskKey = "CULVERT-MASK-KEY-1-101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f"
