package read_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

// newStandby returns a database of a primary, made by SQL, and how it is reached on a standby that has replayed this.
// The standby ends at once what holds up its replay.
func newStandby(t *testing.T, sql string) (database *testkit.PostgresDatabase, connString string) {
	t.Helper()
	settings := []string{"wal_level = replica", "max_wal_senders = 4", "max_standby_streaming_delay = 0"}
	primary := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings})
	database = primary.NewDatabase(t)
	database.Exec(t, sql)
	standby := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings, StandbyOf: primary})
	return database, standby.ConnString(database.Name)
}

// TestStandbyConflict has the primary lock a table exclusively that a session of the standby reads, or has read. The
// server says why it ends the statement; the session without one is lost.
func TestStandbyConflict(t *testing.T) {
	database, connString := newStandby(t, "CREATE TABLE t AS SELECT 1 AS id")
	reading, idle := openAgain(t, connString), openAgain(t, connString)
	if n, err := drain(table(t, idle, "t")); n != 1 {
		t.Fatal(n, err)
	}
	result := make(chan error)
	rows := query(t, reading, "SELECT t.id, pg_sleep(600) FROM t")
	go func() {
		_, err := drain(rows)
		result <- err
	}()
	sessions := func(condition string) func() bool {
		return func() bool {
			return postgresQuery(t, connString, "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"+
				" AND datname = current_database() AND "+condition) != "0"
		}
	}
	testkit.WaitFor(t, "the read to begin", sessions("wait_event = 'PgSleep'"))
	database.Exec(t, "TRUNCATE t")
	if err := <-result; wire.Code(err) != "40001" || !errors.Is(source.Redacted(err), source.ErrConflict) ||
		!strings.Contains(err.Error(), "due to conflict with recovery") {
		t.Errorf("the statement: %v", err)
	}
	testkit.WaitFor(t, "the other session to end", func() bool {
		return !sessions("state = 'idle in transaction'")()
	})
	_, err := idle.Table(context.Background(), "t")
	if !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("the session that had no statement: %v", err)
	}
}

// TestPromoted promotes a standby while it is read: what was begun is read to its end, also by a session that joins
// after that, and shows nothing that the new primary has written.
func TestPromoted(t *testing.T) {
	_, connString := newStandby(t, manyRows)
	db := openAgain(t, connString)
	parts := parts(t, db, "t", source.Selection{}, 4<<20)
	n, err := ways[0].read(table(t, db, "t"), 0, func() {
		if postgresQuery(t, connString, "SELECT pg_promote()") != "t" {
			t.Error("the standby is not promoted")
		}
		postgresQuery(t, connString, "WITH gone AS (DELETE FROM t RETURNING 1) SELECT count(*) FROM gone")
	})
	if n != 300_000 {
		t.Errorf("after %d rows: %v", n, err)
	}
	joined, err := db.Join(context.Background(), parts[0].Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Close()
	total := 0
	for _, n := range counts(t, joined.(*read.DB), parts) {
		total += n
	}
	if total != 300_000 {
		t.Errorf("a session that joined after that sees %d rows", total)
	}
}

// TestIdentity connects to a server that must prove what it is: by its certificate and name, and by the certificate
// that the password is bound to.
func TestIdentity(t *testing.T) {
	clearEnvironment(t)
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Password: "hunter22", TLS: true})
	plain := testkit.NewPostgres(t, testkit.PostgresConfig{Password: "hunter22"})
	other := testkit.NewPostgres(t, testkit.PostgresConfig{Password: "hunter22", TLS: true})
	for _, test := range []struct {
		name    string
		server  *testkit.PostgresServer
		host    string
		options string
		refused string // "" if it is not
	}{
		{"verified", server, "127.0.0.1", "sslmode=verify-full&sslrootcert=" + server.CAFile(), ""},
		{"other name", server, "localhost", "sslmode=verify-full&sslrootcert=" + server.CAFile(), "localhost"},
		{"name not verified", server, "localhost", "sslmode=verify-ca&sslrootcert=" + server.CAFile(), ""},
		{"other authority", server, "127.0.0.1", "sslmode=verify-full&sslrootcert=" + other.CAFile(), "certificate"},
		{"unknown authority", server, "127.0.0.1", "sslmode=verify-full", "certificate"},
		{"no TLS", plain, "127.0.0.1", "sslmode=verify-full&sslrootcert=" + server.CAFile(), "refused TLS"},
		{"bound", server, "127.0.0.1", "sslmode=require&channel_binding=require", ""},
		{
			"bound and verified", server, "127.0.0.1",
			"sslmode=verify-full&channel_binding=require&sslrootcert=" + server.CAFile(), "",
		},
		{"not bound without TLS", server, "127.0.0.1", "sslmode=disable&channel_binding=require", "channel binding"},
		{"not bound by a server", plain, "127.0.0.1", "sslmode=prefer&channel_binding=require", "channel binding"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, port, err := net.SplitHostPort(test.server.Address(t))
			if err != nil {
				t.Fatal(err)
			}
			db, err := read.Open(t.Context(), fmt.Sprintf("postgres://postgres:hunter22@%s/postgres?%s",
				net.JoinHostPort(test.host, port), test.options))
			if err == nil {
				err = db.Close()
			}
			if (err == nil) != (test.refused == "") {
				t.Fatalf("the error is %v, want %q", err, test.refused)
			}
			if err != nil && (!errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), test.refused) ||
				strings.Contains(err.Error(), "hunter22")) {
				t.Errorf("the error is %v, want %q", err, test.refused)
			}
		})
	}
}
