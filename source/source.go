// Package source says what a place that rows come from looks like.
//
// A [Source] is an open database. [Source.Table] and [Source.Query] give [Rows], which fill a reusable [Batch] with the
// values of whole rows, as raw bytes, each with the [Kind] that says how to read it:
//
//	rows, err := src.Table(ctx, "orders")
//	…
//	for {
//		err := rows.Next(&batch)
//		if err == io.EOF {
//			break
//		}
//		…
//		for row := range batch.Rows() {
//			kind, value := batch.Value(row, 0)
//			…
//		}
//	}
//
// Nothing is decoded on the way: a number stays the text that the database prints, so that no digit is lost, and no row
// costs an allocation once the batch has grown to its size, unless the driver of the database makes some.
//
// The packages below this one each adapt one database: source/postgres, source/mysql, source/sqlite, and source/sqldb
// for any database/sql driver. Package sourcetest is the suite that all of them pass. Package source/gormdb gives the
// Rows of queries made with GORM.
//
// What not every database can do is in interfaces of its own, which are found by a type assertion: those of a Source
// are [Selector], [Lister] and [Describer], and those of Rows are [CSVWriter], [Divider], [Sized] and [Meter].
package source

import (
	"context"
	"fmt"
	"io"
)

// Source is an open database. A Source runs one Rows at a time: close the rows before asking for the next, which fails
// otherwise.
type Source interface {
	// Table gives all rows of a table or view. The name is resolved by the rules of the database. It fails with an
	// [*UnknownError] if there is no such table.
	//
	// The context governs the rows until they are closed.
	Table(ctx context.Context, name string) (Rows, error)

	// Query gives the rows of one SQL statement that returns rows.
	Query(ctx context.Context, sql string) (Rows, error)

	// Close ends the connection.
	Close() error
}

// Rows are the rows of one table or query. They are used by one goroutine at a time.
type Rows interface {
	// Columns describes the values of each row, in order. It may be empty: PostgreSQL has tables without columns,
	// and their rows count. The slice belongs to the Rows.
	Columns() []Column

	// Next resets b and fills it with the next rows, at least one, until it is full. It returns io.EOF when there are
	// no more, and only after the database has confirmed the number of rows. After any error the Rows are spent and
	// return the same error again.
	Next(b *Batch) error

	// Close releases the rows, also in the middle. It does not repeat an error that Next has returned.
	Close() error
}

// CSVWriter is implemented by Rows whose database can print rows as CSV itself, byte for byte as format.CSV would.
type CSVWriter interface {
	// WriteCSV writes all rows to w, without a header, in place of Next. Each call of w.Write is given one whole row,
	// which w must not retain. The result is the number of rows that both sides have counted.
	WriteCSV(w io.Writer) (rows int64, err error)
}

// Divider is implemented by Rows that several readers can share.
type Divider interface {
	// Divide returns up to n Rows, each for a goroutine of its own. Together they return every row once, in no order,
	// as it was at one moment for all of them. There are fewer than n if more would be of no use. If more would be of
	// use but are unavailable, an [*IndivisibleError] beside the Rows says why. If the rows cannot be divided at all,
	// Divide returns only that error, and the rows can still be read as they are.
	//
	// Divide is called before anything is read. Then all that it gives is read, to the end or to an error; the rows are
	// complete when each has returned io.EOF. An error of one does not end the others; the context does. To close the
	// Rows that were divided closes all, and must wait until none is in use. If rows may be lent ([Batch.SetLending]),
	// each needs a goroutine of its own: Next of one may wait for another whose row is lent, until the other asks for
	// its next rows. Otherwise one goroutine may read them in turn.
	Divide(n int) ([]Rows, error)

	// Ranges returns the number of pieces that n readers would share, 1 if the rows would not be divided. It lets
	// callers ask before, or instead of, calling Divide, and fails as Divide does if that is known without another
	// connection.
	Ranges(n int) (int, error)
}

// Sized is implemented by Rows of which the database can say beforehand about how many there are.
type Sized interface {
	// Size asks the database. It is called before anything is read and before Divide. An answer that is not known is no
	// error; rows that may not be read can be one.
	Size() (Size, error)
}

// Meter is implemented by Rows that know what part of them has been read, better than their number and their Size tell.
type Meter interface {
	// Done is a number from 0 to 1, or less than 0 as long as it is not known. It is safe for concurrent use, also
	// while others read, and counts what they read too if the rows are divided.
	Done() float64
}

// Column is the name and the type of a column.
type Column struct {
	Name string
	Type string // as the database calls it, such as "numeric(10,2)"; "" if it does not say
}

// Kind says what the bytes of a value are. It belongs to the value, not to the column, since some databases (SQLite)
// let each row choose.
type Kind uint8

// The kinds of values.
const (
	Null   Kind = iota // no bytes
	Text               // characters, in UTF-8 unless the database holds something else
	Number             // a number as the database prints it; also NaN, Infinity and -Infinity
	Bool               // t or f
	Bytes              // binary data
	JSON               // a JSON value as the database prints it
)

// String gives the name of the kind, in lower case.
func (k Kind) String() string {
	names := [...]string{"null", "text", "number", "bool", "bytes", "json"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}
