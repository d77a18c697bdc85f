package testkit

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/lazyregexp"
)

// sessions keeps a session of the superuser for each database of the shared server. Tests run their statements in it,
// since to begin a session takes ten times as long as most statements do.
type sessions struct {
	mu   sync.Mutex
	idle map[string]*pgconn.PgConn // by database
}

// take returns a session that is as if it had just begun.
func (s *sessions) take(ctx context.Context, server *PostgresServer, database string) (*pgconn.PgConn, error) {
	s.mu.Lock()
	conn := s.idle[database]
	delete(s.idle, database)
	s.mu.Unlock()
	if conn != nil {
		if conn.Exec(ctx, "DISCARD ALL").Close() == nil {
			return conn, nil
		}
		_ = conn.Close(ctx) // a test has ended it
	}
	return pgconn.Connect(ctx, server.ConnString(database))
}

// lasting finds statements whose settings only new sessions have.
var lasting = lazyregexp.New(`(?i)\bALTER\s+(DATABASE|ROLE|USER)\b`)

// give keeps a session for the next statement, or ends it.
func (s *sessions) give(ctx context.Context, database string, conn *pgconn.PgConn, sql string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if conn.IsClosed() || conn.TxStatus() != 'I' || s.idle[database] != nil || lasting.MatchString(sql) {
		return conn.Close(ctx)
	}
	if s.idle == nil {
		s.idle = map[string]*pgconn.PgConn{}
	}
	s.idle[database] = conn
	return nil
}

// end ends the session that is kept for a database.
func (s *sessions) end(database string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if conn := s.idle[database]; conn != nil {
		delete(s.idle, database)
		_ = conn.Close(context.Background()) // a test may have ended it
	}
}

// query runs statements as the superuser, and returns the rows as text, with NULL as "".
func (s *PostgresServer) query(tb testing.TB, database, sql string) [][]string {
	tb.Helper()
	rows, err := s.try(database, sql)
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// try is query for statements that the server may refuse.
func (s *PostgresServer) try(database, sql string) ([][]string, error) {
	ctx := context.Background()
	take := func() (*pgconn.PgConn, error) { return pgconn.Connect(ctx, s.ConnString(database)) }
	give := func(conn *pgconn.PgConn) error { return conn.Close(ctx) }
	if s.shared {
		take = func() (*pgconn.PgConn, error) { return s.sessions.take(ctx, s, database) }
		give = func(conn *pgconn.PgConn) error { return s.sessions.give(ctx, database, conn, sql) }
	}
	conn, err := take()
	if err != nil {
		return nil, err
	}
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err := errors.Join(err, give(conn)); err != nil {
		return nil, err
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
	return rows, nil
}
