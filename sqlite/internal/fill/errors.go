package fill

import (
	"context"
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/lazyregexp"
	"culvert/sink"
	"culvert/source"
)

// failure is an error of a database file.
type failure struct {
	path  string
	err   error
	class error // source.ErrUnavailable, source.ErrCorrupt, sink.ErrLocked, ErrFull, ErrReadOnly or nil
}

func (f *failure) Error() string {
	return "sqlite: " + f.path + ": " + strings.TrimPrefix(f.err.Error(), "sqlite3: ")
}

func (f *failure) Unwrap() error { return f.err }

func (f *failure) Is(target error) bool { return f.class != nil && target == f.class }

// fail adds the path and the class to an error of the driver.
func (db *DB) fail(ctx context.Context, err error) error {
	f := &failure{path: db.path, err: err}
	code, _ := errors.AsType[sqlite3.ErrorCode](err)
	switch code {
	case sqlite3.INTERRUPT, sqlite3.BUSY:
		// The end of the context interrupts a statement, and also the wait for a lock.
		if ctx.Err() != nil {
			f.err = ctx.Err()
		} else {
			f.class = sink.ErrLocked
		}
	case sqlite3.FULL:
		f.class = sink.ErrFull
	case sqlite3.LOCKED:
		f.class = sink.ErrLocked
	case sqlite3.CANTOPEN, sqlite3.PROTOCOL:
		f.class = source.ErrUnavailable
	case sqlite3.READONLY:
		f.class = sink.ErrReadOnly
	case sqlite3.CORRUPT, sqlite3.NOTADB:
		f.class = source.ErrCorrupt
	case sqlite3.IOERR:
		// For the driver, a full disk is a write that fails, whose reason the rollback then replaces.
		if extended, ok := errors.AsType[sqlite3.ExtendedErrorCode](err); ok && extended == sqlite3.IOERR_WRITE {
			f.class = sink.ErrFull
		}
	}
	return f
}

// catch turns a panic of the driver into an error, after which the connection can only be closed. The driver panics if
// SQLite runs out of memory, and if a damaged file leads SQLite to an invalid address.
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

// refused returns the error of a row of the batch, which is a [sink.RowError] if the row is the reason.
func (l *loader) refused(ctx context.Context, err error, row int64, value func(column int) string) error {
	if !ofRow(err) {
		return l.table.db.fail(ctx, err)
	}
	code, _ := errors.AsType[sqlite3.ErrorCode](err)
	e := &sink.RowError{Table: l.table.plan.Table, Row: row, Code: codeOf(err), Err: err}
	message := err.Error()
	if match := failedOn.FindStringSubmatch(message); match != nil {
		e.Constraint, e.Column = match[1], l.table.columnIn(match[2])
	}
	if match := stored.FindStringSubmatch(message); match != nil {
		e.Column = l.table.columnIn(match[1])
	}
	if column := l.table.indexOf(e.Column); column >= 0 {
		e.Value = sink.Shorten(value(column))
	}
	if l.table.filling.Redact {
		e.Value, e.Err = "", code
	}
	return e
}

// ofRow reports whether a row can be the reason of an error. After other errors, such as those of the disk, SQLite may
// have undone the whole transaction (https://sqlite.org/lang_transaction.html#response_to_errors_within_a_transaction).
func ofRow(err error) bool {
	switch code, _ := errors.AsType[sqlite3.ErrorCode](err); code {
	case sqlite3.CONSTRAINT, sqlite3.MISMATCH, sqlite3.TOOBIG, sqlite3.ERROR:
		return true
	}
	return false
}

// failedOn and stored find the constraint and the column in messages such as "UNIQUE constraint failed: orders.id",
// "CHECK constraint failed: positive" and "cannot store TEXT value in INTEGER column orders.id".
var (
	failedOn = lazyregexp.New(`(NOT NULL|UNIQUE|CHECK|FOREIGN KEY) constraint failed(?:: (.*))?`)
	stored   = lazyregexp.New(`cannot store \w+ value in \w+ column (.*)`)
)

// codeOf returns the name of SQLite for a code, as far as callers might ask for it.
func codeOf(err error) string {
	extended, ok := errors.AsType[sqlite3.ExtendedErrorCode](err)
	if !ok {
		return ""
	}
	switch extended {
	case sqlite3.CONSTRAINT_UNIQUE:
		return "SQLITE_CONSTRAINT_UNIQUE"
	case sqlite3.CONSTRAINT_PRIMARYKEY:
		return "SQLITE_CONSTRAINT_PRIMARYKEY"
	case sqlite3.CONSTRAINT_ROWID:
		return "SQLITE_CONSTRAINT_ROWID"
	case sqlite3.CONSTRAINT_NOTNULL:
		return "SQLITE_CONSTRAINT_NOTNULL"
	case sqlite3.CONSTRAINT_CHECK:
		return "SQLITE_CONSTRAINT_CHECK"
	case sqlite3.CONSTRAINT_TRIGGER:
		return "SQLITE_CONSTRAINT_TRIGGER"
	case sqlite3.CONSTRAINT_DATATYPE:
		return "SQLITE_CONSTRAINT_DATATYPE"
	}
	return ""
}
