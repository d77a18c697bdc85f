package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"culvert/source"
)

// Restorer is implemented by sinks that make a whole database again.
type Restorer interface {
	// Restores reports whether a schema of a dialect can be made here.
	Restores(d source.Dialect) bool

	// Restore runs the statements of a schema that come before the rows. The database must not have what they make. The
	// load says what is loaded, as in a [Ledger]. If an earlier call with the same load has run them, Restore goes on
	// where that has ended. The error is [ErrOtherRestore] if another load has begun to make the database. While one
	// load makes it, the Restore of another fails with [ErrBusy], except in databases such as SQLite, which commit each
	// part alone: there, it goes on.
	//
	// If a statement fails, the error is a [*StatementsError], and nothing was made where the database can undo it and
	// the statements are not too many for one transaction. No table may be being filled. Of the filling, only
	// LockTimeout and Redact are of use.
	Restore(ctx context.Context, load string, s *source.Schema, f Filling) (Restoration, error)
}

// Restoration is a database that is being made again.
type Restoration interface {
	// Ledger is where all parts of the rows must be recorded, so that a load that was interrupted can go on. It is
	// removed at the end. The tables are filled while they have no triggers, and no indexes or keys where the schema
	// makes the tables. With the other systems, the fillings must make them.
	Ledger() *Ledger

	// Filled reports whether an earlier Finish has begun, so that all rows are there.
	Filled() bool

	// Finish runs the statements that come after the rows, over up to n connections, and forgets the load. If some
	// fail, it runs the others, and the error is a [*StatementsError]. Then a Restore with the same load, and its
	// Finish, run only those that have failed.
	Finish(ctx context.Context, n int) error

	// Abandon forgets the load, if this Restore has begun it and no rows are recorded. It is called if tables could not
	// be filled, for example since they exist. If statements before the rows make the tables, it changes nothing.
	Abandon(ctx context.Context) error

	// Close lets other loads make the database, or go on. It must be called, also after Finish.
	Close() error
}

// ErrRestoring is the [ErrBusy] error of a database that another load is making.
var ErrRestoring error = restoringError{}

type restoringError struct{}

func (restoringError) Error() string        { return "sink: another load makes this database" }
func (restoringError) Is(target error) bool { return target == ErrBusy }

// ErrOtherRestore is the error of a database that another load has begun to make.
var ErrOtherRestore = errors.New("sink: another load has begun to make this database")

// StatementsError says which statements of a schema have failed.
type StatementsError struct {
	Before bool             // they come before the rows, which were not loaded
	Kept   int              // of those before them that a later Restore with the same load need not run again
	Failed []StatementError // at least one
}

// StatementError is a statement that has failed.
type StatementError struct {
	SQL string
	Err error
}

func (e *StatementsError) Error() string {
	first := e.Failed[0].Error()
	if more := len(e.Failed) - 1; more > 0 {
		return fmt.Sprintf("%s; and %d more", first, more)
	}
	return first
}

// Unwrap returns the errors of all statements.
func (e *StatementsError) Unwrap() []error {
	all := make([]error, len(e.Failed))
	for i, one := range e.Failed {
		all[i] = one.Err
	}
	return all
}

func (e *StatementError) Error() string {
	return Shorten(strings.Join(strings.Fields(e.SQL), " ")) + ": " + e.Err.Error()
}
