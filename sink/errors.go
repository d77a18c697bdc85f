package sink

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Errors that callers can act on.
var (
	// ErrNotEmpty marks the error of a table that must be empty and is not.
	ErrNotEmpty = errors.New("sink: the table is not empty")

	// ErrGone marks the error of a table that has fewer rows than the ledger says.
	ErrGone = errors.New("sink: rows are gone that the ledger says are loaded")

	// ErrExists marks the error of a table that is to be made, but exists and cannot be filled in its place.
	ErrExists = errors.New("sink: the table exists")

	// ErrNeeds marks the error of a table that cannot be made, since its definition needs what does not exist, such as
	// a type, a function, or a sequence or the row type of another table.
	ErrNeeds = errors.New("sink: the definition of the table needs what does not exist")

	// ErrBusy marks the error of a table that another load is filling.
	ErrBusy = errors.New("sink: another load fills the table")

	// ErrLocked marks errors of a lock that others have held for longer than [Filling.LockTimeout].
	ErrLocked = errors.New("sink: others keep a lock")

	// ErrFull marks errors of a database that has no room for the rows.
	ErrFull = errors.New("sink: the database has no room")

	// ErrReadOnly marks the error of a database that takes no writes, such as a standby.
	ErrReadOnly = errors.New("sink: the database is read-only")

	// ErrSwap marks the error of a table that [Swap] cannot replace. The message names what would be lost.
	ErrSwap = errors.New("sink: the table cannot be swapped, since this would be lost")

	// ErrChanged marks the error of a value that its column would store as another one, such as a number that it would
	// round. [Filling.Convert] accepts that.
	ErrChanged = errors.New("sink: the column would change the value")

	// ErrUnconfirmed marks the error that the connection was lost during a commit, and that the database could not be
	// asked again: the rows may be there or not. With a ledger, the same load run again finds out which.
	ErrUnconfirmed = errors.New("sink: it is not known whether the rows were committed")
)

// Changed returns an [ErrChanged] with a reason, which must not have the value.
func Changed(reason string) error { return changedError(reason) }

type changedError string

func (e changedError) Error() string { return string(e) }

func (e changedError) Is(target error) bool { return target == ErrChanged }

// RowError is the error of a row that the database refuses, because of a value, a constraint or a trigger, for example,
// or of a value that it would change, which is an [ErrChanged].
type RowError struct {
	Table string // as the database names it

	// Row is the number of the row since the last Flush, from 1. Line is the number of the line of text at which the
	// row ends, from 1. Databases report one of them; 0 means unknown.
	Row, Line int64

	Column     string // "" if not known
	Constraint string // that the row violates, or ""
	Value      string // that the database refuses, shortened; "" with [Filling.Redact], or if not known
	Code       string // of the database, such as an SQLSTATE
	Dangling   bool   // a foreign key refers to a row that is not there
	Err        error  // what the database says; with [Filling.Redact], only the meaning of the code
}

func (e *RowError) Error() string {
	var text strings.Builder
	text.WriteString("sink: table " + e.Table)
	switch {
	case e.Row > 0:
		fmt.Fprintf(&text, ", row %d", e.Row)
	case e.Line > 0:
		fmt.Fprintf(&text, ", line %d", e.Line)
	}
	if e.Column != "" {
		text.WriteString(", column " + strconv.Quote(e.Column))
	}
	if e.Constraint != "" {
		text.WriteString(", constraint " + strconv.Quote(e.Constraint))
	}
	fmt.Fprintf(&text, ": %v", e.Err)
	if e.Value != "" {
		text.WriteString(": " + strconv.Quote(e.Value))
	}
	return text.String()
}

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// ReferencedError is the error of a table whose rows cannot be replaced, since foreign keys of other tables refer to
// it. Nothing was changed.
type ReferencedError struct {
	Table string   // as the database names it
	Keys  []string // the foreign keys, and their tables
	Drop  []string // a statement for each that removes it
}

func (e *ReferencedError) Error() string {
	return fmt.Sprintf("sink: the rows of table %s cannot be replaced, since others refer to them: %s", e.Table,
		strings.Join(e.Keys, ", "))
}

// ComputedError is the error of columns of the rows that take no values, since the table computes them.
type ComputedError struct {
	Table   string // as errors name it
	Columns []string
}

func (e *ComputedError) Error() string {
	return fmt.Sprintf("%s: column %q is generated, and takes no values", e.Table, e.Columns[0])
}

// CountError reports that the database has counted another number of rows than were sent, for example because a trigger
// has left some out.
type CountError struct {
	Table         string
	Part          string // or ""
	Sent, Counted int64
}

func (e *CountError) Error() string {
	part := ""
	if e.Part != "" {
		part = ", part " + strconv.Quote(e.Part)
	}
	return fmt.Sprintf("sink: table %s%s: %d rows were sent, but the database has counted %d",
		e.Table, part, e.Sent, e.Counted)
}

// MaxValue is the most bytes of a value that a RowError has.
const MaxValue = 100

// Shorten returns a value for an error: its first [MaxValue] bytes at most, without a part of a character, and valid
// UTF-8. An ellipsis shows what is missing.
func Shorten(value string) string {
	if len(value) > MaxValue {
		value = strings.ToValidUTF8(value[:MaxValue], "") + "…"
	}
	return strings.ToValidUTF8(value, "\uFFFD")
}
