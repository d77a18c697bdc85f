package read

import (
	"context"
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
)

// failure is an error of a database file.
type failure struct {
	path  string
	err   error
	class error // source.ErrUnavailable, source.ErrCorrupt or nil
}

func (f *failure) Error() string {
	text := "sqlite: " + f.path + ": " + strings.TrimPrefix(f.err.Error(), "sqlite3: ")
	if errors.Is(f.err, sqlite3.READONLY) {
		text += ": SQLite must write next to a database in WAL mode, and into a database whose last write was" +
			" interrupted; make its directory writable, or open it with write access once"
	}
	return text
}

func (f *failure) Unwrap() error { return f.err }

// Redacted is for [source.Redacted].
func (f *failure) Redacted() error {
	code, is := errors.AsType[sqlite3.ErrorCode](f.err)
	if !is {
		return f
	}
	return &failure{path: f.path, err: code, class: f.class}
}

func (f *failure) Is(target error) bool { return f.class != nil && target == f.class }

// fail adds the path and the class to an error of the driver.
func (db *DB) fail(ctx context.Context, err error) error {
	f := &failure{path: db.path, err: err}
	code, _ := errors.AsType[sqlite3.ErrorCode](err)
	switch code {
	case sqlite3.INTERRUPT, sqlite3.BUSY:
		// The end of the context interrupts a query, and also the wait for a lock.
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

// catch turns a panic of the driver into an error, after which the connection can only be closed. The driver panics if
// SQLite runs out of memory, such as for a row larger than its address space, and if a damaged file leads SQLite to an
// invalid address.
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
