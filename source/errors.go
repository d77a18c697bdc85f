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
	What  string   // "table" or "column"
	Name  string   // as it was asked for
	Known []string // the names there are, for a suggestion; long lists may be cut
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("source: %s %s does not exist", e.What, strconv.Quote(e.Name))
}

// CountError says that the database confirmed another number of rows than it sent.
type CountError struct {
	Received, Confirmed int64
}

func (e *CountError) Error() string {
	return fmt.Sprintf("source: received %d rows, but the database confirmed %d", e.Received, e.Confirmed)
}
