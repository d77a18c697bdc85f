package testkit

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
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
	query(tb, s.ConnString("postgres"), sql)
	if s.guard == nil {
		tb.Cleanup(func() {
			query(tb, s.ConnString("postgres"), "DROP DATABASE IF EXISTS "+db.Name+" WITH (FORCE)")
		})
	}
	return db
}

// ConnString returns the connection string of the superuser on the Unix socket.
func (db *PostgresDatabase) ConnString() string { return db.Server.ConnString(db.Name) }

// Exec runs SQL statements, separated by semicolons, in one transaction.
func (db *PostgresDatabase) Exec(tb testing.TB, sql string) {
	tb.Helper()
	query(tb, db.ConnString(), sql)
}

// Query runs an SQL statement and returns its rows as text, with NULL as "".
func (db *PostgresDatabase) Query(tb testing.TB, sql string) [][]string {
	tb.Helper()
	return query(tb, db.ConnString(), sql)
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

func query(tb testing.TB, connString, sql string) [][]string {
	tb.Helper()
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, connString)
	if err != nil {
		tb.Fatal(err)
	}
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	var rows [][]string
	for _, result := range results {
		for _, values := range result.Rows {
			row := make([]string, len(values))
			for i, value := range values {
				row[i] = string(value)
			}
			rows = append(rows, row)
		}
	}
	return rows
}
