package source

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrUnavailable marks errors of a database that cannot be reached, that refuses the connection, or that went away.
var ErrUnavailable = errors.New("source: database unavailable")

// ErrCorrupt marks errors of a database that is damaged, as far as rows cannot be read.
var ErrCorrupt = errors.New("source: database is damaged")

// UnknownError says that the database, or a format, knows no such name.
type UnknownError struct {
	What  string   // "table", "column" or "schema"
	Name  string   // as it was asked for
	Known []string // the names there are, for a suggestion; long lists may be cut
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("source: %s %s does not exist", e.What, strconv.Quote(e.Name))
}

// IndivisibleError says why rows cannot be shared by several readers, or by no more readers than there are.
type IndivisibleError struct {
	Reason string // ends a sentence, such as "a view has no pages"
	Err    error  // the cause, if there is one
}

func (e *IndivisibleError) Error() string { return "source: the rows cannot be divided: " + e.Reason }

// Unwrap gives the cause.
func (e *IndivisibleError) Unwrap() error { return e.Err }

// CountError says that the database confirmed another number of rows than it sent.
type CountError struct {
	Received, Confirmed int64
}

func (e *CountError) Error() string {
	return fmt.Sprintf("source: received %d rows, but the database confirmed %d", e.Received, e.Confirmed)
}
