// Package format turns the rows of a source into bytes, and bytes into rows.
//
// A [Format] is [CSV], [JSONL] or [Text]. It makes an [Encoder] for given columns, which appends batches of rows to a
// byte slice:
//
//	encoder, err := format.CSV{}.Encoder(rows.Columns())
//	…
//	out = encoder.AppendHeader(out)
//	for … {
//		out, err = encoder.AppendRows(out, &batch)
//		…
//	}
//
// Files of columns are in packages of their own, so that others do not compile them: [culvert/format/parquet] and
// [culvert/format/arrow].
//
// Encoders hold no state between batches, so several goroutines may encode different batches of the same rows at once.
// They do not allocate once the slice has grown to its size.
//
// # Types
//
// Package [culvert/source] says which types of each database have a logical type. In the formats, it is:
//
//	logical type   CSV, such as                 Parquet                    Arrow
//	bool           t                            BOOLEAN                    Bool
//	int16          7                            INTEGER(16, signed)        Int16
//	int32, int64   7                            INT32, INT64               Int32, Int64
//	float32, 64    1.5                          FLOAT, DOUBLE              Float32, Float64
//	decimal(p,s)   12.50                        DECIMAL(p,s)               Decimal128(p,s)
//	bytes          \x00ff                       BYTE_ARRAY                 Binary
//	date           2026-01-02                   DATE                       Date32
//	time           12:34:56.789                 TIME(micros), in no zone   Time64(us), in no zone
//	timestamp      2026-01-02 12:34:56.789      TIMESTAMP(micros)          Timestamp(us)
//	instant        2026-01-02 12:34:56.789+00   TIMESTAMP(micros), in UTC  Timestamp(us, UTC)
//	uuid           16 bytes in five groups      UUID                       FixedSizeBinary(16), arrow.uuid
//	json           "{""n"": 7}"                 JSON                       Utf8, arrow.json
//	list(T)        "{1,NULL,2}"                 LIST of what T becomes     List of what T becomes
//	all others     the text                     STRING                     Utf8
//
// The text of CSV, JSON Lines and the others is the one that the database prints; here, that of PostgreSQL. The others
// are texts and enums; intervals; types of which nothing is known, and their lists; and decimals without bounds, or of
// more than 38 digits, which few readers have.
//
// In files of columns, a column that is NOT NULL in the database is required. All others are optional, NULL stays NULL,
// and so may be each value of a list. A value never becomes another one. One that does not fit the type of its column
// ends the export with a [ValueError], which names the row and the column, unless [Lossy] says what to do: infinity,
// years before 1 or after 9999, NaN in a decimal, a time of 24:00 or more, a text that is not UTF-8, a NULL in a column
// that is NOT NULL, a value of SQLite of another type than its column's, and an array of several dimensions, or whose
// elements are not numbered from 1, in a column of lists. Only how a value is printed is lost: 007 is the number 7, and
// an instant is in UTC.
//
// # Loading the output
//
// Nothing is rounded, shortened or guessed, so the output can be loaded into a table again. Values are written as:
//
//	kind    CSV                        JSONL
//	Null    nothing                    null
//	Text    the text; '' is ""         a string
//	Number  as the database has it     a number with the same digits; a string for NaN, Infinity and the like
//	Bool    t or f                     true or false
//	Bytes   \x and hexadecimal digits  the same in a string, "\\x00ff"
//	JSON    as the database has it     itself, on one line; {"json_text":"null"} for its null
//
// All other database types, such as times, arrays, ranges and composites, are Text. PostgreSQL loads CSV by
//
//	\copy orders from orders.csv csv header
//
// and JSON Lines, with two bytes that occur in no line, by
//
//	create temporary table lines (line text)
//	\copy lines from orders.jsonl csv quote e'\x01' delimiter e'\x02'
//	insert into orders select r.* from lines, json_populate_record(null::orders, line::json) r
//
// Both make an equal table. The insert must name the columns if some are generated. PostgreSQL has these limits:
//
//   - Its JSON functions take {"json_text":"null"} for an object, rewrite json that is a single string or number, and
//     refuse json that contains \u0000 or an unpaired surrogate.
//   - In json columns, jsonb_populate_record loses the layout, the order of keys, and all but the last of repeated
//     keys. It refuses numbers that numeric cannot hold. It also loses the sign of a floating-point zero.
//   - Before version 18, psql takes a line of \. within a text for the end of the file. COPY FROM STDIN does not.
//
// SQLite has a type for each value. JSON keeps these types, except that text which begins with \x looks like binary
// data; unhex(substr(value, 3)) decodes binary data. SQLite's .import reads NULL as the empty string, and binary data
// as text.
//
// CSV keeps the bytes of text that is not UTF-8. In JSONL, [InvalidUTF8] decides.
//
// # Reading text
//
// CSV and JSONL are [Readable], and so is the CSV of other programs, by a [Dialect]. A [Decoder] fills batches with the
// rows of a text, which must be whole:
//
//	decoder, err := format.CSV{}.Decoder(fields)
//	…
//	for len(text) > 0 {
//		n, err := decoder.Decode(&batch, text)
//		…
//		text = text[n:]
//	}
//
// Decoders are cheap, and each goroutine needs its own. A [Splitter] cuts a stream into blocks of whole rows for them.
// What an encoder has written becomes the rows that it was given, if the fields have the kinds of the values. Only
// white space changes on its way through JSON Lines: JSON comes back without that around it, and on several lines also
// without that between its tokens. What text on its own cannot say in JSON is in an object that no other value becomes,
// such as {"json_text":"null"}: see [JSONL].
package format

import (
	"io"
	"slices"

	"culvert/source"
)

// Format is a format of rows.
type Format interface {
	// Encoder returns the encoder for rows with these columns.
	Encoder(columns []source.Column) (Encoder, error)

	// Extension returns the usual file name extension, with its dot.
	Extension() string
}

// Encoder appends encoded rows to a byte slice. It is safe for concurrent use.
type Encoder interface {
	// AppendHeader appends the text before the first row, which most formats do not have.
	AppendHeader(dst []byte) []byte

	// RowSize returns the number of bytes of a row without its values, or slightly more. See [source.Batch.SetRowSize].
	RowSize() int

	// AppendRows appends all rows of a batch, none of which may be lent. It does not retain their values. After an
	// error, the result must not be used as output.
	AppendRows(dst []byte, b *source.Batch) ([]byte, error)

	// AppendPieces appends the same bytes as AppendRows, in pieces of about size bytes, so that the text of a large row
	// is never in memory as a whole. Rows may be lent. Each time dst reaches size bytes, AppendPieces calls next with
	// it and goes on with the slice that next returns. It returns the last piece, which may be empty. A row of less
	// than 64 KiB is not split. A piece exceeds size by at most 400 KiB, not counting column names or the template. An
	// error of next is returned as it is.
	AppendPieces(dst []byte, b *source.Batch, size int, next func(text []byte) ([]byte, error)) ([]byte, error)
}

// LineEncoder is implemented by the Encoder of [CSV].
type LineEncoder interface {
	Encoder

	// AppendLines is AppendPieces, and shows each row to lines before the text is passed on. They may be [FieldLines].
	AppendLines(dst []byte, b *source.Batch, size int, lines Lines, next func([]byte) ([]byte, error)) ([]byte, error)
}

// Assembled is implemented by encoders of formats that are more than their rows one after the other, such as those with
// an index at the end. What they append are pieces, of which the writer makes the file.
type Assembled interface {
	Encoder

	// Assemble returns a writer that writes the file to w. Each call of Write must have what one call of AppendRows has
	// appended, or whole pieces of AppendPieces, in order. It retains nothing of it, and need not write at once. Close
	// ends the file and does not close w. Without Close, the file is not a valid one.
	Assemble(w io.Writer) io.WriteCloser
}

// Lines is shown the text of rows while it is made, such as for a checksum. It must neither change nor retain the text.
type Lines interface {
	Line(text []byte) // a whole row
	Part(text []byte) // the next part of a large row
	EndLine()         // the row whose parts were passed to Part is complete
}

// FieldLines are Lines that may be told where the fields of a whole row are.
type FieldLines interface {
	Lines

	// WantsEnds reports whether Row is called in place of Line.
	WantsEnds() bool

	// Row is Line, with where each field ends: at its comma, or at the line feed. It must not retain the ends.
	Row(text []byte, ends []int)
}

// rowEncoder encodes single rows in one format.
type rowEncoder interface {
	// appendRow appends a row that is not lent.
	appendRow(dst []byte, b *source.Batch, row int) ([]byte, error)

	// addRow adds any row, value by value, and sets err on failure. The pieces are passed by value, since a pointer in
	// an interface call would make them escape.
	addRow(p pieces, b *source.Batch, row int) pieces

	// valuesSize returns the size of the values of a row as text, without escapes.
	valuesSize(b *source.Batch, row int) int
}

// encoder is the [Encoder] of all formats.
type encoder struct {
	rowEncoder
	header  []byte
	rowSize int // bytes of a row without its values
	copies  int // the most times that a value of a row can be written
}

func (e *encoder) AppendHeader(dst []byte) []byte { return append(dst, e.header...) }

func (e *encoder) RowSize() int { return e.rowSize }

func (e *encoder) AppendRows(dst []byte, b *source.Batch) ([]byte, error) {
	dst = slices.Grow(dst, e.size(b))
	var err error
	for row := range b.Rows() {
		if dst, err = e.appendRow(dst, b, row); err != nil {
			break
		}
	}
	return dst, err
}

// size estimates the size of the text of a batch. For large values it is close: with an estimate that is too small, the
// old and the new buffer would be in memory at once.
func (e *encoder) size(b *source.Batch) int {
	size := b.Rows() * e.rowSize
	if b.Size() <= 2*source.BatchSize {
		return size + b.Size()
	}
	for row := range b.Rows() {
		size += e.valuesSize(b, row)
	}
	return size
}

func (e *encoder) AppendPieces(
	dst []byte, b *source.Batch, size int, next func([]byte) ([]byte, error),
) ([]byte, error) {
	p := pieces{text: dst, size: size, next: next}
	for row := 0; row < b.Rows() && p.err == nil; row++ {
		if e.isWhole(b, row) {
			p.text, p.err = e.appendRow(p.text, b, row)
		} else {
			p = e.addRow(p, b, row)
		}
		p.cut()
	}
	return p.text, p.err
}

// isWhole reports whether a row is appended as a whole.
func (e *encoder) isWhole(b *source.Batch, row int) bool {
	return !b.HasLent() && b.RowBytes(row)*e.copies <= wholeRow
}
