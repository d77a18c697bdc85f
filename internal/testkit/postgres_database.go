package testkit

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// PostgresDatabase is a database of a [PostgresServer].
type PostgresDatabase struct {
	Server *PostgresServer
	Name   string
}

// NewDatabase creates an empty database, with options of CREATE DATABASE such as "ENCODING SQL_ASCII TEMPLATE
// template0". The database of a shared server is dropped after the test.
func (s *PostgresServer) NewDatabase(tb testing.TB, options ...string) *PostgresDatabase {
	tb.Helper()
	db := &PostgresDatabase{Server: s, Name: databaseName(s.databases.Add(1))}
	sql := "CREATE DATABASE " + db.Name
	for _, option := range options {
		sql += " " + option
	}
	if s.majorVersion(tb) >= 15 {
		sql += " STRATEGY FILE_COPY" // takes half of the time of writing each page into the log
	}
	s.query(tb, "postgres", sql)
	tb.Cleanup(func() { s.sessions.end(db.Name) })
	if s.guard == nil {
		tb.Cleanup(func() { s.query(tb, "postgres", "DROP DATABASE IF EXISTS "+db.Name+" WITH (FORCE)") })
	}
	return db
}

// ConnString returns the connection string of the superuser on the Unix socket.
func (db *PostgresDatabase) ConnString() string { return db.Server.ConnString(db.Name) }

// Exec runs SQL statements, separated by semicolons, in one transaction.
func (db *PostgresDatabase) Exec(tb testing.TB, sql string) {
	tb.Helper()
	db.Server.query(tb, db.Name, sql)
}

// Query runs an SQL statement and returns its rows as text, with NULL as "".
func (db *PostgresDatabase) Query(tb testing.TB, sql string) [][]string {
	tb.Helper()
	return db.Server.query(tb, db.Name, sql)
}

// EndSessions ends the sessions of other clients for which a condition on pg_stat_activity holds, such as "true", and
// returns their number when they have ended.
func (db *PostgresDatabase) EndSessions(tb testing.TB, condition string) int {
	tb.Helper()
	found := db.Query(tb, `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
		AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND (`+condition+`)`)
	for _, row := range found {
		db.Exec(tb, fmt.Sprintf(`DO $$ BEGIN
			PERFORM pg_terminate_backend(%[1]s);
			WHILE EXISTS (SELECT FROM pg_stat_activity WHERE pid = %[1]s) LOOP
				PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
			END LOOP;
		END $$`, row[0]))
	}
	return len(found)
}

// Try is Exec for statements that the server may refuse.
func (db *PostgresDatabase) Try(sql string) error {
	_, err := db.Server.try(db.Name, sql)
	return err
}

// Psql runs psql with additional arguments, such as "-c", and returns its output.
func (db *PostgresDatabase) Psql(tb testing.TB, args ...string) []byte {
	tb.Helper()
	cmd := db.PsqlCommand(tb, args...)
	output, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		tb.Fatal("psql:", err)
	}
	return output
}

// PsqlCommand returns the command that [PostgresDatabase.Psql] runs.
func (db *PostgresDatabase) PsqlCommand(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	path, err := exec.LookPath(filepath.Join(db.Server.programs, "psql"))
	if err != nil {
		path, err = exec.LookPath("psql")
	}
	if err != nil {
		Missing(tb, "psql", "apt-get install postgresql-client, or the like")
	}
	cmd := exec.Command(path, append([]string{"-Xq", "-v", "ON_ERROR_STOP=1", "-d", db.ConnString()}, args...)...)
	cmd.Env = append(environment(), "PGCLIENTENCODING=UTF8")
	return cmd
}
