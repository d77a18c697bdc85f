package source

import (
	"context"
	"fmt"
	"io"
)

// Source is an open database. A Source has one open Rows at a time: asking for others before they are closed is an
// error.
type Source interface {
	// Table returns all rows of a table or view. The database's rules resolve the name. The error is an [*UnknownError]
	// if there is no such table. The context governs the rows until they are closed.
	Table(ctx context.Context, name string) (Rows, error)

	// Query returns the rows of one SQL statement.
	Query(ctx context.Context, sql string) (Rows, error)

	// Close closes the connection.
	Close() error
}

// Rows are the rows of a table or query. They must be used by one goroutine at a time.
type Rows interface {
	// Columns describes the values of each row, in order. It may be empty, since PostgreSQL has tables without columns.
	// The slice belongs to the Rows.
	Columns() []Column

	// Next resets b and fills it with at least one row, until it is full or the rows end. It returns io.EOF after the
	// last row, once the database has confirmed the number of rows. After any error, Next returns the same error.
	Next(b *Batch) error

	// Close releases the rows, even before their end. It does not repeat an error of Next.
	Close() error
}

// CSVWriter is implemented by Rows whose database can print CSV, byte for byte as format.CSV does.
type CSVWriter interface {
	// WriteCSV writes all rows to w, without a header. It replaces Next. Each call of w.Write gets one whole row, which
	// w must not retain. WriteCSV returns the number of rows, which the database has confirmed.
	WriteCSV(w io.Writer) (rows int64, err error)
}

// BinaryWriter is implemented by Rows whose database can send a binary form of rows.
type BinaryWriter interface {
	// HasBinary reports whether that form has the values of all columns, so that another database of the same system
	// reads the same values from it, and sends the same bytes of them, whatever the versions of both.
	HasBinary() bool

	// WriteBinary writes all rows to w, each in the form that a sink of the same system takes. It replaces Next. Each
	// call of w.Write gets one whole row, which w must not retain. WriteBinary returns the number of rows, which the
	// database has confirmed.
	WriteBinary(w io.Writer) (rows int64, err error)
}

// Printer is implemented by Rows whose values are texts as a database system prints them.
type Printer interface {
	// PrintedBy returns the system, or "" if it is not known.
	PrintedBy() Dialect
}

// Divider is implemented by Rows that several readers can share.
type Divider interface {
	// Divide returns up to n Rows, each for a goroutine of its own. Together they return every row once, in no order,
	// from one state of the table. There are fewer than n if more would not be useful. If more would be useful but are
	// unavailable, Divide also returns an [*IndivisibleError] that says why. If the rows cannot be divided at all, it
	// returns only that error, and the original Rows can still be read.
	//
	// Divide must be called before anything is read. Then all its Rows must be read, to the end or to an error. The
	// rows are complete when each has returned io.EOF. An error of one does not end the others; the context does.
	// Closing the original Rows closes all, and must wait until none is in use. If rows may be lent
	// ([Batch.SetLending]), each needs its own goroutine: Next of one may wait until another, whose row is lent, is
	// asked for its next rows. Otherwise one goroutine may read them in turn.
	Divide(n int) ([]Rows, error)

	// Ranges returns the number of pieces that n readers would share, or 1 if the rows would not be divided. Callers
	// may use it before, or instead of, Divide. It fails as Divide does if that is known without another connection.
	Ranges(n int) (int, error)
}

// Sized is implemented by Rows whose number the database can estimate.
type Sized interface {
	// Size asks the database. It must be called before anything is read and before Divide. An unknown size is not an
	// error, but rows that may not be read can be one.
	Size() (Size, error)
}

// Meter is implemented by Rows that know their progress better than their number and Size tell.
type Meter interface {
	// Done returns the part that has been read, from 0 to 1, or a negative number if it is not yet known. It is safe
	// for concurrent use, and includes all readers if the rows are divided.
	Done() float64
}

// Untold is implemented by Rows of databases in which each value has a type of its own, whatever its column.
type Untold interface {
	// Untold returns the names of the columns with values that would come back with another type, since neither the
	// type of their column nor their text tells it, such as an integer in a column without a type. The text may tell
	// numbers from strings, as JSON does and CSV does not. The answer is complete when the rows have ended.
	Untold(numbers bool) []string
}

// Column is the name and the type of a column.
type Column struct {
	Name    string `json:"name"`
	Type    string `json:"type,omitempty"`   // the database's name for it, such as "numeric(10,2)"; "" if not known
	Logical Type   `json:"logical,omitzero"` // what the values are

	// NotNull says that the database keeps NULL out of the column. It is false if nothing guarantees that, as in
	// queries and views.
	NotNull bool `json:"not_null,omitempty"`
}

// Kind is the meaning of the bytes of a value. Values of one column may differ in kind, as in SQLite.
type Kind uint8

// The kinds of values.
const (
	Null   Kind = iota // no bytes
	Text               // characters, in UTF-8 unless the database stores another encoding
	Number             // a number as the database prints it; also NaN, Infinity and -Infinity
	Bool               // t or f
	Bytes              // binary data
	JSON               // a JSON value as the database prints it
)

// String returns the name of the kind, in lower case.
func (k Kind) String() string {
	names := [...]string{"null", "text", "number", "bool", "bytes", "json"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}
