package testkit

import (
	"strconv"
	"testing"
)

// SincePostgres skips a test of something that the server has since a version, such as 14.
func SincePostgres(tb testing.TB, version int, what string) {
	tb.Helper()
	if is := PostgresVersion(tb); is < version {
		tb.Skipf("PostgreSQL %d has no %s, which came with PostgreSQL %d", is, what, version)
	}
}

// Timescale starts a server with TimescaleDB for one test, which is skipped if that is not installed.
func Timescale(tb testing.TB) *PostgresServer {
	tb.Helper()
	const installed = "SELECT count(*) FROM pg_available_extensions WHERE name = 'timescaledb'"
	if Postgres(tb).query(tb, "postgres", installed)[0][0] == "0" {
		tb.Skip("TimescaleDB is not installed; to test with it: ./dev test-servers postgres-18")
	}
	return NewPostgres(tb, PostgresConfig{Settings: []string{"shared_preload_libraries = 'timescaledb'"}})
}

// PostgresVersion returns the version of the server that tests use, such as 15.
func PostgresVersion(tb testing.TB) int {
	tb.Helper()
	return Postgres(tb).majorVersion(tb)
}

// majorVersion is [PostgresVersion] of any server.
func (s *PostgresServer) majorVersion(tb testing.TB) int {
	tb.Helper()
	if s.version.Load() == 0 {
		number, err := strconv.ParseInt(s.query(tb, "postgres", "SHOW server_version_num")[0][0], 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		s.version.Store(number / 10000)
	}
	return int(s.version.Load())
}
