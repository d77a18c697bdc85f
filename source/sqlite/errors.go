package sqlite

import (
	"context"
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
)

// failure is an error that belongs to a database file.
type failure struct {
	path  string
	err   error
	class error // which of the errors of package source it also is, or nil
}

func (f *failure) Error() string {
	text := "sqlite: " + f.path + ": " + strings.TrimPrefix(f.err.Error(), "sqlite3: ")
	if errors.Is(f.err, sqlite3.READONLY) {
		text += ": SQLite must write beside a database in WAL mode, and into one whose last write was cut off;" +
			" make its directory writable, or open it with write access once"
	}
	return text
}

func (f *failure) Unwrap() error { return f.err }

func (f *failure) Is(target error) bool { return f.class != nil && target == f.class }

// fail gives an error of the driver its path and its class.
func (db *DB) fail(ctx context.Context, err error) error {
	f := &failure{path: db.path, err: err}
	code, _ := errors.AsType[sqlite3.ErrorCode](err)
	switch code {
	case sqlite3.INTERRUPT, sqlite3.BUSY:
		// The driver ends the wait for a lock, as it ends a query, when the context has ended.
		if ctx.Err() != nil {
			f.err = ctx.Err()
		} else {
			f.class = source.ErrUnavailable
		}
	case sqlite3.CANTOPEN, sqlite3.LOCKED, sqlite3.PROTOCOL, sqlite3.READONLY:
		f.class = source.ErrUnavailable
	case sqlite3.CORRUPT, sqlite3.NOTADB:
		f.class = source.ErrCorrupt
	}
	return f
}

// catch turns a panic of the driver into an error, after which the connection can only be closed. The driver panics
// where SQLite finds no memory, as for a row larger than its address space, and where a damaged file has led SQLite to
// an address that it does not have.
func (db *DB) catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		*err = &failure{path: db.path, err: p}
		db.spent = &failure{path: db.path, err: p, class: source.ErrUnavailable}
	default:
		panic(p)
	}
}
