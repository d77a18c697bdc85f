// Package fill fills tables of PostgreSQL: what package postgres says about its Sink.
package fill

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/sqlsource"
	"culvert/postgres/internal/wire"
	"culvert/sink"
	"culvert/source"
)

// grace is how long to wait for the server when a statement is canceled, the connection is closed, or the outcome of a
// transaction is asked for. Only tests change it.
var grace = 5 * time.Second

// DB is a connection to a database. It implements [sink.Sink] and must be used by one goroutine at a time.
type DB struct {
	config  *pgconn.Config
	session *session
	filler  sink.Filler
	guard   *session // keeps other restorations out, if there is one
}

var (
	_ sink.Sink     = (*DB)(nil)
	_ sink.Cloner   = (*DB)(nil)
	_ sink.Analyzer = (*DB)(nil)
)

// Open connects to a database.
func Open(ctx context.Context, connString string) (*DB, error) {
	config, err := wire.ParseConfig(connString)
	if err != nil {
		return nil, err
	}
	return open(ctx, config)
}

func open(ctx context.Context, config *pgconn.Config) (*DB, error) {
	s, err := connect(ctx, config)
	if err != nil {
		return nil, err
	}
	return &DB{config: config, session: s}, nil
}

// Clone opens another connection to the same database.
func (db *DB) Clone(ctx context.Context) (sink.Sink, error) {
	if db.filler.IsClosed() {
		return nil, errDatabaseClosed
	}
	clone, err := open(ctx, db.config)
	if err != nil {
		return nil, err
	}
	return clone, nil
}

var errDatabaseClosed = sqlsource.Unavailable("postgres: the database is closed", nil)

// begin begins a transaction, if no table is being filled. Between two, a session is idle for as long as others fill
// theirs. If it was ended meanwhile, as idle_session_timeout does, another takes its place.
func (db *DB) begin(ctx context.Context, f sink.Filling) error {
	if err := db.filler.Idle(); err != nil {
		return err
	}
	err := db.session.begin(ctx, f)
	if ctx.Err() != nil || !errors.Is(err, source.ErrUnavailable) {
		return err
	}
	another, failed := connect(ctx, db.config)
	if failed != nil {
		return failed
	}
	db.session.close()
	db.session = another
	return another.begin(ctx, f)
}

// Analyze updates the statistics of a table, in a transaction of its own.
func (db *DB) Analyze(ctx context.Context, name string, f sink.Filling) error {
	if err := db.begin(ctx, f); err != nil {
		return err
	}
	defer db.session.rollback()
	t, err := db.session.findTarget(ctx, name)
	if err != nil {
		return err
	}
	if err := db.session.exec(ctx, "ANALYZE "+t.sql); err != nil {
		return db.session.failed(ctx, "ANALYZE "+t.sql, err)
	}
	return db.session.commit(ctx, db.config)
}

// Close discards the table that is being filled, and closes the connection. It takes a few seconds at most.
func (db *DB) Close() error {
	err := db.filler.Close()
	db.release()
	db.session.close()
	return err
}
