package source

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrUnavailable marks errors of a database that cannot be reached, refuses the connection, or has closed it.
var ErrUnavailable = errors.New("source: database unavailable")

// ErrCorrupt marks errors of a database whose damage prevents reading rows.
var ErrCorrupt = errors.New("source: database is damaged")

// ErrConflict marks the error of a standby that has ended a statement, or a session, since it held up what the standby
// has to replay. The snapshot is lost. A new one may last longer.
var ErrConflict = errors.New("source: ended for the replay of a standby")

// UnknownError reports a name that does not exist in the database, or for a format.
type UnknownError struct {
	What  string   // "table", "column" or "schema"
	Name  string   // as the caller wrote it
	Known []string // existing names, for a suggestion; may be incomplete
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("source: %s %s does not exist", e.What, strconv.Quote(e.Name))
}

// IndivisibleError is the reason why several readers, or more of them, cannot share rows.
type IndivisibleError struct {
	Reason string // ends a sentence, such as "a view has no pages"
	Err    error  // the cause, if there is one
}

func (e *IndivisibleError) Error() string { return "source: the rows cannot be divided: " + e.Reason }

// Unwrap returns the cause.
func (e *IndivisibleError) Unwrap() error { return e.Err }

// CountError reports that the database confirmed a different number of rows than it sent.
type CountError struct {
	Received, Confirmed int64
}

func (e *CountError) Error() string {
	return fmt.Sprintf("source: received %d rows, but the database confirmed %d", e.Received, e.Confirmed)
}

// TextError reports a text whose characters have no equals in UTF-8, so that it would come back as another one.
type TextError struct {
	Column  string
	Row     int64 // that was read, counted from 1; 0 if not known
	Charset string

	// Condition and Bytes are SQL: they find such rows, and read the bytes of their texts in place of the column.
	Condition, Bytes string

	// Query reads the same rows of a table, with the bytes of every column that can have such texts. It is "" for the
	// rows of a query.
	Query string
}

func (e *TextError) Error() string {
	at := ""
	if e.Row > 0 {
		at = fmt.Sprintf(", row %d", e.Row)
	}
	return fmt.Sprintf("source: column %q%s: a text of the character set %s that would come back from UTF-8 "+
		"as another one", e.Column, at, e.Charset)
}

// HiddenMessage stands in place of the message of a database in errors that [Redacted] returns.
const HiddenMessage = "the message is hidden, since it may show values"

// Redacted returns an error of a database without the message of the database, which may show values, such as the text
// that is no number: only what was being done, and the code. The errors of the sources of this module can be redacted.
// Others are returned as they are.
func Redacted(err error) error {
	if refused, is := errors.AsType[interface {
		error
		Redacted() error
	}](err); is {
		return refused.Redacted()
	}
	return err
}
