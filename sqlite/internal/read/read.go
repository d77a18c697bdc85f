// Package read reads rows out of SQLite: what package sqlite says about its Source.
package read

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
	"culvert/sqlite/internal/dbfile"
)

// busyTimeout is how long to wait for a locked database.
const busyTimeout = 10 * time.Second

// DB is an open database file. It must be used by one goroutine at a time.
type DB struct {
	path  string
	conn  *sqlite3.Conn
	open  *rows    // nil if no rows are open
	begun bool     // the transaction has begun
	state string   // a name for the transaction, once a table was cut in it
	taken []string // what was written as "x", and taken for a text since nothing has that name
	spent error    // why the connection cannot be used any more

	taker    string // the name of the function that takes rows
	scanning *scan  // that it serves

	others []*DB                    // further connections, whose transactions show the same state
	alone  *source.IndivisibleError // why there are none, although the file is large

	catalog *catalog                 // nil until it was asked for
	asked   map[string]*sqlite3.Stmt // questions with parameters, which are asked for many tables
}

var _ source.Source = (*DB)(nil)

// Open opens a database file. The error is [source.ErrUnavailable] if the file does not exist or is not a database. If
// damage is found while rows are read, the error is [source.ErrCorrupt].
func Open(path string) (*DB, error) {
	db := &DB{path: path}
	if err := db.connect(dbfile.MaxMemory); err != nil {
		return nil, &failure{path: path, err: err, class: source.ErrUnavailable}
	}
	return db, nil
}

func (db *DB) connect(memory int64) (err error) {
	defer db.catch(&err)
	registerVFS()
	conn, err := dbfile.Open(dbfile.File{Path: db.path, Mode: "ro", VFS: temporaryVFS, Memory: memory})
	if err != nil {
		return err
	}
	err = conn.BusyTimeout(busyTimeout)
	if err == nil {
		err = conn.ConfigLog(func(_ sqlite3.ExtendedErrorCode, message string) {
			if text, is := strings.CutPrefix(message, `double-quoted string literal: `); is {
				db.taken = append(db.taken, text)
			}
		})
	}
	db.conn = conn
	if err == nil {
		err = db.createTaker()
	}
	if err != nil {
		db.conn = nil
		return errors.Join(err, conn.Close())
	}
	return nil
}

// Close closes the file and any open rows.
func (db *DB) Close() (err error) {
	if db.conn == nil {
		return nil
	}
	defer db.catch(&err)
	if db.open != nil {
		err = db.open.Close()
	}
	for _, stmt := range db.asked {
		finish(stmt)
	}
	db.asked = nil
	err = errors.Join(err, db.closeOthers())
	// After a panic, the driver may have lost a statement that SQLite still has. Then only memory is left over, and a
	// file that was read.
	if e := db.conn.Close(); e != nil && db.spent == nil {
		err = errors.Join(err, &failure{path: db.path, err: e})
	}
	db.conn = nil
	db.spent = &failure{path: db.path, err: errors.New("the database is closed"), class: source.ErrUnavailable}
	return err
}

// Query returns the rows of one statement, which must only read and have no parameters. It may end in a semicolon and
// comments.
func (db *DB) Query(ctx context.Context, sql string) (_ source.Rows, err error) {
	defer db.catch(&err)
	rows, err := db.query(ctx, sql, sql)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// query runs a statement, of which the caller of this package has written a part.
func (db *DB) query(ctx context.Context, sql, written string) (*rows, error) {
	stmt, err := db.compile(ctx, sql, written)
	if err != nil {
		return nil, err
	}
	rows, err := db.start(ctx, stmt)
	if err != nil {
		finish(stmt)
		return nil, err
	}
	return rows, nil
}

// compile prepares a statement, of which the caller of this package has written a part.
func (db *DB) compile(ctx context.Context, sql, written string) (*sqlite3.Stmt, error) {
	stmt, err := db.prepare(ctx, sql)
	if err != nil {
		return nil, err
	}
	if err := db.misnamed(written); err != nil {
		finish(stmt)
		return nil, err
	}
	if stmt.BindCount() > 0 {
		finish(stmt)
		return nil, errors.New("sqlite: the statement has parameters, such as ? or :name, but no values for them")
	}
	return stmt, nil
}

// texts returns the first column of all rows of a query with the parameters args.
func (db *DB) texts(ctx context.Context, sql string, args ...string) ([]string, error) {
	found, err := db.textRows(ctx, sql, args...)
	var all []string
	for _, row := range found {
		all = append(all, row[0])
	}
	return all, err
}

// textRows returns all rows of a query with the parameters args.
func (db *DB) textRows(ctx context.Context, sql string, args ...string) (all [][]string, err error) {
	defer db.catch(&err)
	stmt, done, err := db.ask(ctx, sql, len(args) > 0)
	if err != nil {
		return nil, err
	}
	defer done()
	if all, err = dbfile.TextRows(stmt, args...); err != nil {
		return nil, db.fail(ctx, err)
	}
	return all, nil
}

// ask compiles a statement, or returns the one that was compiled before. The caller must call done.
func (db *DB) ask(ctx context.Context, sql string, keep bool) (stmt *sqlite3.Stmt, done func(), err error) {
	if stmt = db.asked[sql]; stmt == nil {
		if stmt, err = db.prepare(ctx, sql); err != nil {
			return nil, nil, err
		}
		if !keep {
			return stmt, func() { finish(stmt) }, nil
		}
		if db.asked == nil {
			db.asked = map[string]*sqlite3.Stmt{}
		}
		db.asked[sql] = stmt
	} else if err := db.free(ctx); err != nil {
		return nil, nil, err
	}
	return stmt, func() { _ = stmt.Reset() }, nil // which repeats the error of the last step
}

// free makes sure that a statement can run, in the transaction.
func (db *DB) free(ctx context.Context) error {
	if db.spent != nil {
		return db.spent
	}
	if db.open != nil {
		return errors.New("sqlite: other rows of the database are still open")
	}
	db.conn.SetInterrupt(ctx)
	return db.begin(ctx)
}

// prepare compiles a statement that reads. The context governs the connection until the statement is closed.
func (db *DB) prepare(ctx context.Context, sql string) (*sqlite3.Stmt, error) {
	if err := db.free(ctx); err != nil {
		return nil, err
	}
	if strings.IndexByte(sql, 0) >= 0 {
		return nil, errors.New("sqlite: the statement contains a NUL character")
	}
	db.taken = nil
	stmt, tail, err := db.conn.Prepare(sql)
	if err != nil {
		return nil, db.fail(ctx, err)
	}
	var refused error
	switch {
	case stmt == nil:
		return nil, errors.New("sqlite: the query contains no statement")
	case !db.blank(tail):
		refused = errors.New("sqlite: the query has more than one statement")
	case !stmt.ReadOnly():
		refused = errors.New("sqlite: the statement writes; a source only reads")
	case stmt.ColumnCount() == 0:
		refused = errors.New("sqlite: the statement returns no rows")
	default:
		return stmt, nil
	}
	finish(stmt)
	return nil, refused
}

// misnamed refuses the last statement if SQLite has taken "x" for a text in what was written for it, since nothing has
// that name. It does so for the sake of old schemas, whose views may need it, even a view of that name; in a condition,
// it would hide that a name is misspelled.
func (db *DB) misnamed(written string) error {
	for _, text := range db.taken {
		if strings.Contains(written, text) {
			return fmt.Errorf("sqlite: nothing is named %s; a text has single quotes: 'text'", text)
		}
	}
	return nil
}

// begin begins the transaction, unless it has begun. The first read fixes its state. An error may have ended it
// (https://sqlite.org/lang_transaction.html); rows that are read after that might not fit the earlier ones.
func (db *DB) begin(ctx context.Context) error {
	switch {
	case !db.begun:
		if err := db.beginTogether(ctx); err != nil {
			return err
		}
		db.begun = true
	case db.conn.GetAutocommit():
		db.spent = &failure{path: db.path, err: errors.New("the transaction has ended"), class: source.ErrUnavailable}
		return db.spent
	}
	return nil
}

// blank reports whether there are only semicolons, white space and comments.
func (db *DB) blank(sql string) bool {
	for sql != "" {
		stmt, tail, err := db.conn.Prepare(sql)
		if stmt != nil || err != nil || len(tail) >= len(sql) {
			finish(stmt)
			return false
		}
		sql = tail
	}
	return true
}
