// Package sqlite reads the rows of an SQLite database file, as a [source.Source].
//
//	db, err := sqlite.Open("todos.db")
//	…
//	defer db.Close()
//	rows, err := db.Table(ctx, "todos")
//
// # Values
//
// In SQLite the type belongs to the value, not to the column, and so does the [source.Kind] given here:
//
//	INTEGER  Number, all 64 bits
//	REAL     Number, the shortest text that reads back as the same value, with .0 if it is whole; infinity is 9.0e+999
//	TEXT     Text, byte for byte, also if it is not UTF-8 or holds NUL; a UTF-16 database gives UTF-8
//	BLOB     Bytes
//	NULL     Null
//
// SQLite has neither booleans nor JSON: a column declared BOOLEAN holds the integers 0 and 1, one declared JSON holds
// text that nothing has checked, and both are given as what they are. The declared type is found in [source.Column].
//
// A virtual table is read if its module belongs to the core of SQLite. Those of FTS5 and R*Tree do not; the tables in
// which they keep their content, such as docs_content, can be read instead.
//
// # Reading beside writers
//
// The file is opened for reading only and must exist. All that a [DB] reads, it reads in one read transaction, which
// begins with the first rows: tables that are read one after the other fit together, whatever is written meanwhile. In
// WAL mode writers do not wait for it, but the WAL grows until the DB is closed; in the other journal modes they cannot
// commit until then. A database that is locked is waited for, up to ten seconds. A database in WAL mode needs its -shm
// and -wal files; where they are not, they are made beside it, in a directory that must be writable, and they stay
// there.
//
// # Memory
//
// SQLite runs in an address space of its own, translated to Go. A page cache of 2 MB, and the largest value of the
// table, are held there besides the [source.Batch]. A query that sorts more rows than fit in the cache is sorted in an
// unnamed file in the system's directory for temporary files, as with any SQLite program. The file is encrypted with a
// random key that is only in memory.
package sqlite

import (
	"context"
	"errors"
	"math/bits"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
)

// busyTimeout is how long a locked database is waited for.
const busyTimeout = 10 * time.Second

// maxMemory bounds the address space of a connection. It is reserved, not used, until a value needs it. The driver's
// default, 256 MB, is too small for the values of up to 1 GB that SQLite allows; 4 GiB is all that it can address.
const maxMemory = 4 << 30

// DB is an open database file. It is used by one goroutine at a time.
type DB struct {
	path  string
	conn  *sqlite3.Conn
	open  *rows // nil if no rows are open
	begun bool  // the transaction
	spent error // why the connection gives no more rows
}

var _ source.Source = (*DB)(nil)

// Open opens a database file. If it does not exist, or is not a database, the error is [source.ErrUnavailable]. Damage
// that shows only when rows are read gives [source.ErrCorrupt].
func Open(path string) (*DB, error) {
	db := &DB{path: path}
	if err := db.connect(maxMemory); err != nil {
		return nil, &failure{path: path, err: err, class: source.ErrUnavailable}
	}
	return db, nil
}

func (db *DB) connect(memory int64) (err error) {
	defer db.catch(&err)
	// A pipe would be waited for, and a device taken for an empty database.
	if info, err := os.Stat(db.path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return errors.New("it is a directory")
		}
		return errors.New("it is not a regular file")
	}
	uri, err := readOnlyURI(db.path)
	if err != nil {
		return err
	}
	registerVFS()
	ctx := context.Background()
	if bits.UintSize == 64 {
		ctx = sqlite3.WithMaxMemory(ctx, memory)
	}
	conn, err := sqlite3.OpenContext(ctx, uri)
	if err != nil {
		return err
	}
	// Opening reads nothing yet. Whether the file is a database shows with the first query, for which a lock held by a
	// writer is no reason to wait here, where no context could end it.
	err = conn.Exec("PRAGMA schema_version")
	if errors.Is(err, sqlite3.BUSY) {
		err = nil
	}
	if err == nil {
		err = conn.BusyTimeout(busyTimeout)
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	db.conn = conn
	return nil
}

// readOnlyURI names a file as https://sqlite.org/uri.html has it. So every path is that of a file, also ":memory:".
func readOnlyURI(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	abs = (&url.URL{Path: filepath.ToSlash(abs)}).EscapedPath()
	if strings.HasPrefix(abs, "//") {
		abs = "//" + abs // a host of no name, before the name of a Windows share
	}
	return "file:" + abs + "?mode=ro&vfs=" + temporaryVFS, nil
}

// Close closes the file, and with it any rows that are open.
func (db *DB) Close() (err error) {
	if db.conn == nil {
		return nil
	}
	defer db.catch(&err)
	if db.open != nil {
		err = db.open.Close()
	}
	// After a panic the driver may not know of a statement any more that SQLite still has. What is left then is
	// memory, and a file that was only read.
	if e := db.conn.Close(); e != nil && db.spent == nil {
		err = &failure{path: db.path, err: e}
	}
	db.conn = nil
	db.spent = &failure{path: db.path, err: errors.New("the database is closed"), class: source.ErrUnavailable}
	return err
}

// Query gives the rows of one statement, which must only read and have no parameters. It may end in a semicolon and
// comments.
func (db *DB) Query(ctx context.Context, sql string) (_ source.Rows, err error) {
	defer db.catch(&err)
	rows, err := db.query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func (db *DB) query(ctx context.Context, sql string) (*rows, error) {
	stmt, err := db.prepare(ctx, sql)
	if err != nil {
		return nil, err
	}
	if stmt.BindCount() > 0 {
		finish(stmt)
		return nil, errors.New("sqlite: the statement has parameters, such as ? or :name, but no values for them")
	}
	rows, err := db.start(ctx, stmt)
	if err != nil {
		finish(stmt)
		return nil, err
	}
	return rows, nil
}

// texts gives the first column of all rows of a query, whose parameters are args.
func (db *DB) texts(ctx context.Context, sql string, args ...string) (all []string, err error) {
	defer db.catch(&err)
	stmt, err := db.prepare(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer finish(stmt)
	for i, arg := range args {
		if err := stmt.BindText(i+1, arg); err != nil {
			return nil, db.fail(ctx, err)
		}
	}
	for stmt.Step() {
		all = append(all, stmt.ColumnText(0))
	}
	if err := stmt.Err(); err != nil {
		return nil, db.fail(ctx, err)
	}
	return all, nil
}

// prepare compiles one statement that reads. Until it is closed, the context governs the connection.
func (db *DB) prepare(ctx context.Context, sql string) (*sqlite3.Stmt, error) {
	if db.spent != nil {
		return nil, db.spent
	}
	if db.open != nil {
		return nil, errors.New("sqlite: other rows of the database are still open")
	}
	if strings.IndexByte(sql, 0) >= 0 {
		return nil, errors.New("sqlite: the statement contains a NUL character")
	}
	db.conn.SetInterrupt(ctx)
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	stmt, tail, err := db.conn.Prepare(sql)
	if err != nil {
		return nil, db.fail(ctx, err)
	}
	var refused error
	switch {
	case stmt == nil:
		return nil, errors.New("sqlite: there is no statement in the query")
	case !db.blank(tail):
		refused = errors.New("sqlite: the query has more than one statement")
	case !stmt.ReadOnly():
		refused = errors.New("sqlite: the statement writes; a source only reads")
	case stmt.ColumnCount() == 0:
		refused = errors.New("sqlite: the statement gives no rows")
	default:
		return stmt, nil
	}
	finish(stmt)
	return nil, refused
}

// begin begins the transaction, unless that has been done. What is read first will fix what it shows. An error may have
// ended it (https://sqlite.org/lang_transaction.html); what would be read after that might not fit what was before.
func (db *DB) begin(ctx context.Context) error {
	switch {
	case !db.begun:
		if err := db.conn.Exec("BEGIN"); err != nil {
			return db.fail(ctx, err)
		}
		db.begun = true
	case db.conn.GetAutocommit():
		db.spent = &failure{path: db.path, err: errors.New("the transaction has ended"), class: source.ErrUnavailable}
		return db.spent
	}
	return nil
}

// blank reports whether there is nothing but semicolons, space and comments.
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
