// Package read reads rows out of MySQL and MariaDB: what package mysql says about its Source.
package read

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"culvert/source"
)

// DB is a connection to a database. It implements [source.Source] and must be used by one goroutine at a time.
type DB struct {
	session *session
	open    opened   // the rows that were returned last, or nil
	group   *group   // of those that were opened together
	first   *session // of the group, if this one was opened beside it; otherwise nil
	ends    []func() // end what StartSchema has begun
}

// opened are rows that were returned.
type opened interface {
	unread() bool  // they may still be read
	end(err error) // sets the error that Next returns, unless it has one, and frees the connection
}

var (
	_ source.Source    = (*DB)(nil)
	_ source.Selector  = (*DB)(nil)
	_ source.Lister    = (*DB)(nil)
	_ source.Omitter   = (*DB)(nil)
	_ source.Describer = (*DB)(nil)
)

// Open connects to a database and begins the transaction.
func Open(ctx context.Context, url string) (*DB, error) { return Config{}.Open(ctx, url) }

// Table returns all rows of a table or view.
//
// It looks for the name as it is in the opened database, then as database.table with both parts as they are, then as
// SQL reads it, with backticks around the parts. Letter case counts if it counts for the server.
//
// The server checks the statement at once, and runs it when the first rows are read.
func (db *DB) Table(ctx context.Context, name string) (source.Rows, error) {
	return db.Select(ctx, name, source.Selection{})
}

// Query returns the rows of one SQL statement. It must not have parameters, and cannot change anything.
func (db *DB) Query(ctx context.Context, sql string) (source.Rows, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	if strings.Trim(sql, "; \t\r\n") == "" {
		return nil, errors.New("mysql: the query contains no statement")
	}
	r := &rows{session: db.session, ctx: ctx, name: "query", sql: sql, query: sql}
	err := r.prepare()
	if err == nil {
		if err = db.session.checkUnguarded(ctx, sql); err != nil {
			return nil, r.fail(err)
		}
		err = r.execute()
	}
	if err != nil {
		return nil, err
	}
	db.open = r
	return r, nil
}

// begin checks that the connection is free.
func (db *DB) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mysql: %w", err)
	}
	if db.open != nil && db.open.unread() {
		return errors.New("mysql: other rows of the database are still open")
	}
	if db.session.Gone {
		return fmt.Errorf("mysql: %w: the connection was closed after an earlier error", source.ErrUnavailable)
	}
	return nil
}

// Close ends the transaction and the connection, even if rows are open; of several, all that are not in use. It takes a
// few seconds at most, and always returns nil: everything that was read has been confirmed before.
func (db *DB) Close() error {
	if db.open != nil {
		db.open.end(errClosed)
	}
	if db.first != nil {
		db.group.put(db.session)
		return nil
	}
	for _, end := range db.ends {
		end()
	}
	db.group.started.Wait()
	db.session.Close()
	db.group.close()
	return nil
}
