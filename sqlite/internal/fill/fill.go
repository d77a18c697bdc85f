// Package fill fills tables of SQLite: what package sqlite says about its Sink.
package fill

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/dbfile"
)

// cache is the page cache in KiB. SQLite writes pages to the file when it is full, so more saves little.
const cache = 16 << 10

// DB is an open database file. It must be used by one goroutine at a time.
type DB struct {
	path   string
	conn   *sqlite3.Conn
	set    bool // the connection has its settings
	filler sink.Filler
	spent  error // why the connection cannot be used any more
}

var _ sink.Sink = (*DB)(nil)

// Open opens a database file, which must exist. The error is [source.ErrUnavailable] if it does not, or is not a
// database.
func Open(path string) (*DB, error) { return open(path, "rw") }

// Create makes a database file, and opens it. It opens a file that exists already.
func Create(path string) (*DB, error) { return open(path, "rwc") }

func open(path, mode string) (*DB, error) {
	db := &DB{path: path}
	if err := db.connect(mode); err != nil {
		return nil, &failure{path: path, err: err, class: source.ErrUnavailable}
	}
	return db, nil
}

func (db *DB) connect(mode string) (err error) {
	defer db.catch(&err)
	conn, err := dbfile.Open(dbfile.File{Path: db.path, Mode: mode})
	if err != nil {
		return err
	}
	// Temporary data is small, and would be in files that are not encrypted.
	if err := conn.Exec("PRAGMA temp_store = MEMORY"); err != nil {
		return errors.Join(err, conn.Close())
	}
	db.conn = conn
	return nil
}

// Close discards the table that is being filled, and closes the file.
func (db *DB) Close() (err error) {
	if db.conn == nil {
		return nil
	}
	defer db.catch(&err)
	err = db.filler.Close()
	if e := db.conn.Close(); e != nil && db.spent == nil {
		err = errors.Join(err, &failure{path: db.path, err: e})
	}
	db.conn = nil
	return err
}

// Analyze updates the statistics of a table.
func (db *DB) Analyze(ctx context.Context, name string, f sink.Filling) (err error) {
	defer db.catch(&err)
	if err := db.ready(ctx, f); err != nil {
		return err
	}
	t, err := db.find(ctx, name)
	if err != nil {
		return err
	}
	return db.exec(ctx, "ANALYZE main."+sqlite3.QuoteIdentifier(t))
}

// ready prepares the connection for a call, whose context it takes.
func (db *DB) ready(ctx context.Context, f sink.Filling) error {
	if db.spent != nil {
		return db.spent
	}
	if err := db.filler.Idle(); err != nil {
		return err
	}
	db.conn.SetInterrupt(ctx)
	if err := db.conn.BusyTimeout(f.Timeout()); err != nil {
		return db.fail(ctx, err)
	}
	if db.set {
		return nil
	}
	err := db.exec(ctx, fmt.Sprintf("%s; PRAGMA cache_size = -%d", dbfile.Settings, cache))
	db.set = err == nil
	return err
}

func (db *DB) exec(ctx context.Context, sql string) error {
	if err := db.conn.Exec(sql); err != nil {
		return db.fail(ctx, err)
	}
	return nil
}

// textRows returns all rows of a statement with the parameters args.
func (db *DB) textRows(ctx context.Context, sql string, args ...string) (all [][]string, err error) {
	stmt, _, err := db.conn.Prepare(sql)
	if err != nil {
		return nil, db.fail(ctx, err)
	}
	defer finish(stmt)
	if all, err = dbfile.TextRows(stmt, args...); err != nil {
		return nil, db.fail(ctx, err)
	}
	return all, nil
}

// finish closes a statement. The driver's Close only repeats the error of the last step.
func finish(stmt *sqlite3.Stmt) { _ = stmt.Close() }
