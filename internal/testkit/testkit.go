// Package testkit holds what the tests of several packages need: servers of PostgreSQL and MariaDB of their own, a gate
// for allocations, and the peak of memory.
//
//	db := testkit.Postgres(t).NewDatabase(t)
//	db.Exec(t, "CREATE TABLE t (id bigint)")
//	src, err := postgres.Open(ctx, db.ConnString())
//
// It is imported by tests only.
package testkit

import (
	"net"
	"os"
	"strconv"
	"testing"
)

// Missing ends a test that needs something which is not installed: what it is, and how to install it. The test is
// skipped, or fails if the environment has CULVERT_TEST_ALL=1, with which nothing may be skipped.
func Missing(tb testing.TB, what, install string) {
	tb.Helper()
	if os.Getenv("CULVERT_TEST_ALL") == "1" {
		tb.Fatalf("%s is missing, and CULVERT_TEST_ALL=1 lets no test be skipped; to install it: %s", what, install)
	}
	tb.Skipf("skipped: %s is missing; to install it: %s", what, install)
}

// Address gives a host and port that nobody else is given until the end of the test. Servers of the test may listen
// there, one after the other. While none does, connections are refused.
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
