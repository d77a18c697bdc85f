// Package read reads rows out of PostgreSQL: what package postgres says about its Source.
package read

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/wire"
	"culvert/source"
)

// DB is a connection to a database. It implements [source.Source] and must be used by one goroutine at a time.
type DB struct {
	config  *pgconn.Config
	session *session
	reading *rows // the rows that were returned last; nil if their locks are released

	kept   int64            // the number of locks that stay until the end
	keptOf map[string]int64 // the number for each table, by its object identifier
	known  *prepared        // shared with those that were opened by Join

	lastPart *rows // all rows of the selection of the last part, not to be read
	limited  bool  // it waits for locks no longer than partTimeout

	joined   source.Snapshot // the one that it reads, if it has joined one
	shared   source.Snapshot // what Share has returned
	snapshot string          // the name of the exported snapshot, or ""
	helpers  []*session      // further sessions with it; nil for lost ones
	endDump  func()          // ends what StartSchema has begun
}

var (
	_ source.Source    = (*DB)(nil)
	_ source.Selector  = (*DB)(nil)
	_ source.Lister    = (*DB)(nil)
	_ source.Separator = (*DB)(nil)
	_ source.Describer = (*DB)(nil)

	_ source.PartialSnapshotter = (*DB)(nil)
)

// Open connects to a database and begins the transaction.
func Open(ctx context.Context, connString string) (*DB, error) {
	config, err := wire.ParseConfig(connString)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := s.beginTransaction(ctx, ""); err != nil {
		s.close()
		return nil, err
	}
	return newDB(config, s), nil
}

func newDB(config *pgconn.Config, s *session) *DB {
	return &DB{
		config: config, session: s, keptOf: map[string]int64{}, known: newPrepared(),
		endDump: func() {},
	}
}

// Table returns all rows of a table, partitioned table, view, materialized view or foreign table, including the rows of
// its children.
//
// It looks for the name as it is, then as schema.table with both parts as they are, then as SQL reads it: quotes
// protect, and anything else is in lower case. Without a schema, the user's search path decides.
func (db *DB) Table(ctx context.Context, name string) (source.Rows, error) {
	return db.Select(ctx, name, source.Selection{})
}

// Query returns the rows of one SQL statement. It must not have parameters, and cannot change anything.
func (db *DB) Query(ctx context.Context, sql string) (source.Rows, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	description, err := db.session.prepareQuery(ctx, sql)
	if err != nil {
		return nil, err
	}
	columns, err := db.session.describe(ctx, description.Fields)
	if err != nil {
		return nil, err
	}
	copies, err := db.session.copies(ctx, sql)
	if err != nil {
		return nil, err
	}
	r := newRows(ctx, db.session, "query", columns, sql, description.Fields)
	db.reading = r
	if !copies {
		return r, nil
	}
	return csvRows{r}, nil
}

// begin checks that the connection is free, and releases what the last rows have locked.
func (db *DB) begin(ctx context.Context) error {
	if err := db.free(); err != nil {
		return err
	}
	return db.releaseLocks(ctx)
}

// free checks that no rows are open.
func (db *DB) free() error {
	if db.reading != nil && db.reading.unread() {
		return errors.New("postgres: other rows of the database are still open")
	}
	return nil
}

// Close ends the transaction and the connections, even if rows are open. It takes a few seconds at most, and always
// returns nil: everything that was read has been confirmed before.
func (db *DB) Close() error {
	if db.reading != nil {
		_ = db.reading.Close() // always nil
	}
	db.endDump()
	var closing sync.WaitGroup
	for _, s := range db.helpers {
		if s != nil {
			closing.Go(s.close)
		}
	}
	db.session.close()
	closing.Wait()
	db.helpers = nil
	return nil
}
