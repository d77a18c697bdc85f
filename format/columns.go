package format

import (
	"io"

	"culvert/source"
)

// Columnar is implemented by formats whose files have columns in groups of rows, such as Parquet and Arrow. Such a file
// is no text: it is read at any place, and says itself which types its values have. Package format has no such format,
// so that nobody compiles one that is not used.
type Columnar interface {
	// Open reads the index of a file of size bytes, which must be decrypted. The ColumnFile reads the file until its
	// last Rows are closed, at several places at once if several Rows are in use.
	Open(file io.ReaderAt, size int64) (ColumnFile, error)
}

// ColumnFile is an open file of columns. It is safe for concurrent use.
type ColumnFile interface {
	// Columns describes the columns, in order. Type is what the file calls it, and Logical what the values are, which
	// are printed as PostgreSQL prints them, in UTC. The slice belongs to the file.
	Columns() []source.Column

	// Groups returns the groups of rows, in order. The slice belongs to the file.
	Groups() []RowGroup

	// Rows returns the rows of a group. The fields are all columns, in order. Those that are skipped are not fetched.
	// If the kind of a field is Number, a text that looks like one is a Number, since a file may have no type for it;
	// no other kind matters. Different Rows may be read at once. A value that has no text which stands for it is a
	// [*RowError], whose row counts from the beginning of the file.
	Rows(group int, fields []Field) (source.Rows, error)
}

// Streamed is implemented by those [Columnar] formats that can be read from the beginning to the end.
type Streamed interface {
	// OpenStream reads what is before the first group of rows.
	OpenStream(r io.Reader) (ColumnStream, error)
}

// ColumnStream is a file of columns that is read once. It is safe for concurrent use.
type ColumnStream interface {
	// Columns describes the columns as those of a [ColumnFile].
	Columns() []source.Column

	// Next returns the next group of rows, and how many rows are before it. The fields are as in [ColumnFile.Rows], and
	// the same in each call. Different Rows may be read at once. After the last group of a complete stream, the error
	// is [io.EOF].
	Next(fields []Field) (rows source.Rows, before int64, err error)
}

// RowGroup is what a file says of a group of rows.
type RowGroup struct {
	Rows   int64    `json:"rows"`
	Bytes  int64    `json:"bytes"`      // in the file, compressed
	Text   int64    `json:"text_bytes"` // before they were compressed, or 0 if the file does not say it
	Codecs []string `json:"codecs"`     // by which its columns are compressed

	Filtered    []string `json:"filtered,omitempty"`     // the columns that have a bloom filter
	FilterBytes int64    `json:"filter_bytes,omitempty"` // of these filters, as far as the file says it
}
