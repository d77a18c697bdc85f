// Package sqlite fills the tables of an SQLite database file, as a [sink.Sink].
//
//	db, err := sqlite.Open("todos.db")
//	…
//	defer db.Close()
//	table, err := db.Table(ctx, "todos", sink.Filling{})
//
// # One transaction
//
// SQLite has one writer at a time, so there is one loader. It adds the rows with prepared statements, in one
// transaction, which keeps other writers out from the beginning. All rows are in the table after Commit, and none after
// anything else, also if the process or the machine stops: the next one that opens the file undoes what is incomplete.
// The journal mode and the way in which the file is synced stay as they are; only the cache is larger.
//
// With [culvert/sink.Filling.EachPart] there is a transaction for each part, and another load of the table can come in
// between two of them. The one that then finds other parts in the ledger than its own fails with [sink.ErrBusy].
//
// Swap is Truncate, since nobody sees the table before it is committed.
//
// With [culvert/sink.Filling.Create], the table is made in the same transaction, by the statement that has made it in
// the other database, with its constraints. Its indexes follow after the rows, and then the last number that
// AUTOINCREMENT has given. A definition of another system is translated by package culvert/sink/dialect; the table can
// have another name then.
//
// # Values
//
// The affinity of a column decides what becomes of a value, as for every INSERT (https://sqlite.org/datatype3.html).
// What an export of SQLite has written comes back as it was, as far as the text tells it:
//
//	Null    NULL
//	Text    TEXT
//	Number  INTEGER or REAL where SQLite prints these digits for it, or the column has a numeric affinity; else TEXT
//	Bool    the integers 1 and 0; t and f in a column of text
//	Bytes   BLOB
//	JSON    TEXT
//
// NaN is TEXT, since SQLite would make it NULL. Infinity is a REAL in a column with a numeric affinity. Triggers of the
// table fire. Foreign keys are not checked, as by default in SQLite: PRAGMA foreign_key_check does it afterwards.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
	"culvert/source"
)

const (
	// lockTimeout is how long to wait for a lock unless the filling says otherwise.
	lockTimeout = 10 * time.Second

	// maxMemory is the address space of a connection, which is only reserved until a value needs it. The driver's
	// default of 256 MB is too small for values of up to 1 GB, which SQLite allows.
	maxMemory = 4 << 30

	// cache is the page cache in KiB. SQLite writes pages to the file when it is full, so more saves little.
	cache = 16 << 10
)

// DB is an open database file. It must be used by one goroutine at a time.
type DB struct {
	path  string
	conn  *sqlite3.Conn
	open  *table // that is being filled, or nil
	spent error  // why the connection cannot be used any more
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
	// Opening a pipe would block, and a device would look like an empty database.
	if info, err := os.Stat(db.path); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	uri, err := fileURI(db.path, mode)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if bits.UintSize == 64 {
		ctx = sqlite3.WithMaxMemory(ctx, maxMemory)
	}
	conn, err := sqlite3.OpenContext(ctx, uri)
	if err != nil {
		return err
	}
	// Opening reads nothing; the first query shows whether the file is a database. Temporary data is small, and would
	// be in files that are not encrypted.
	err = conn.Exec(fmt.Sprintf("PRAGMA schema_version; PRAGMA cache_size = -%d; PRAGMA temp_store = MEMORY", cache))
	if errors.Is(err, sqlite3.BUSY) {
		err = nil
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	db.conn = conn
	return nil
}

// fileURI returns a URI as in https://sqlite.org/uri.html, so that every path, even ":memory:", names a file.
func fileURI(path, mode string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	abs = (&url.URL{Path: filepath.ToSlash(abs)}).EscapedPath()
	if strings.HasPrefix(abs, "//") {
		abs = "//" + abs // an empty host before the name of a Windows share
	}
	return "file:" + abs + "?mode=" + mode, nil
}

// Close discards the table that is being filled, and closes the file.
func (db *DB) Close() (err error) {
	if db.conn == nil {
		return nil
	}
	defer db.catch(&err)
	if db.open != nil {
		err = db.open.Discard()
	}
	if e := db.conn.Close(); e != nil && db.spent == nil {
		err = errors.Join(err, &failure{path: db.path, err: e})
	}
	db.conn = nil
	db.spent = &failure{path: db.path, err: errors.New("the database is closed"), class: source.ErrUnavailable}
	return err
}

// Analyze updates the statistics of a table.
func (db *DB) Analyze(ctx context.Context, name string, f sink.Filling) (err error) {
	defer db.catch(&err)
	if err := db.ready(ctx, f.LockTimeout); err != nil {
		return err
	}
	t, err := db.find(ctx, name)
	if err != nil {
		return err
	}
	return db.exec(ctx, "ANALYZE main."+sqlite3.QuoteIdentifier(t))
}

// ready prepares the connection for a call, whose context it takes.
func (db *DB) ready(ctx context.Context, timeout time.Duration) error {
	if db.spent != nil {
		return db.spent
	}
	if db.open != nil {
		return errors.New("sqlite: another table of the database is being filled")
	}
	if timeout <= 0 {
		timeout = lockTimeout
	}
	db.conn.SetInterrupt(ctx)
	if err := db.conn.BusyTimeout(timeout); err != nil {
		return db.fail(ctx, err)
	}
	return nil
}

func (db *DB) exec(ctx context.Context, sql string) error {
	if err := db.conn.Exec(sql); err != nil {
		return db.fail(ctx, err)
	}
	return nil
}

// texts returns the columns of all rows of a query with the parameters args.
func (db *DB) texts(ctx context.Context, sql string, args ...string) (all [][]string, err error) {
	stmt, _, err := db.conn.Prepare(sql)
	if err != nil {
		return nil, db.fail(ctx, err)
	}
	defer finish(stmt)
	for i, arg := range args {
		if err := stmt.BindText(i+1, arg); err != nil {
			return nil, db.fail(ctx, err)
		}
	}
	for stmt.Step() {
		row := make([]string, stmt.ColumnCount())
		for i := range row {
			row[i] = stmt.ColumnText(i)
		}
		all = append(all, row)
	}
	if err := stmt.Err(); err != nil {
		return nil, db.fail(ctx, err)
	}
	return all, nil
}

// finish closes a statement. The driver's Close only repeats the error of the last step.
func finish(stmt *sqlite3.Stmt) { _ = stmt.Close() }
