// Package format turns the rows of a source into bytes.
//
// A [Format] is a choice: [CSV], [JSONL] or [Text]. For the columns of given rows it makes an [Encoder], which appends
// batches of rows to a byte slice:
//
//	encoder, err := format.CSV{}.Encoder(rows.Columns())
//	…
//	out = encoder.AppendHeader(out)
//	for … {
//		out, err = encoder.AppendRows(out, &batch)
//		…
//	}
//
// Encoders hold no state between batches, so that several goroutines may encode different batches of the same rows at
// once. They allocate nothing once the slice has grown to its size.
//
// # What loads back
//
// Nothing is rounded, shortened or guessed, so that a table can be made of the output again. How each kind of value
// stands in it:
//
//	kind    CSV                        JSONL
//	Null    nothing                    null
//	Text    the text; '' is ""         a string
//	Number  as the database has it     a number with the same digits; NaN, Infinity and the like as a string
//	Bool    t or f                     true or false
//	Bytes   \x and hexadecimal digits  a string of them, "\\x00ff"
//	JSON    as the database has it     itself, on one line
//
// All other types of a database, such as times, arrays, ranges and composites, are Text. So PostgreSQL loads CSV by
//
//	\copy orders from orders.csv csv header
//
// and JSON Lines, with two bytes that no line has, by
//
//	create temporary table lines (line text)
//	\copy lines from orders.jsonl csv quote e'\x01' delimiter e'\x02'
//	insert into orders select r.* from lines, json_populate_record(null::orders, line::json) r
//
// Both give an equal table; the insert must name the columns if some are generated. It is in the nature of PostgreSQL's
// functions for JSON that they make NULL of a JSON value that is null, write json that is a single string or number
// anew, and refuse a line whose json has \u0000 or an unpaired surrogate in it. Of what is json,
// jsonb_populate_record keeps neither the layout nor the order of keys, nor any but the last of repeated ones, and it
// refuses numbers that numeric cannot hold; and it loses the sign of a floating-point zero. Before version 18, psql
// takes a line of \. in the middle of a text for the end of the file, which COPY FROM STDIN does not.
//
// SQLite has a type for each value, of which JSON keeps all but one: a text that begins with \x looks like binary data.
// unhex(substr(value, 3)) reads that. Its .import takes NULL for the empty string, and binary data for text.
//
// Text that is not UTF-8 is in CSV byte by byte, and in JSONL as [InvalidUTF8] says.
package format

import (
	"slices"

	"culvert/source"
)

// Format is a way to write rows.
type Format interface {
	// Encoder gives the encoder for rows of these columns.
	Encoder(columns []source.Column) (Encoder, error)

	// Extension is the usual end of file names, with its dot.
	Extension() string
}

// Encoder appends encoded rows to a byte slice. It is safe for concurrent use.
type Encoder interface {
	// AppendHeader appends what stands once before all rows; for most formats, nothing.
	AppendHeader(dst []byte) []byte

	// RowSize is the number of bytes that a row takes beside its values, or a little more. See
	// [source.Batch.SetRowSize].
	RowSize() int

	// AppendRows appends all rows of a batch, none of which is lent, and whose values it does not retain. On an error
	// dst is returned as far as it got, and must not be used as output.
	AppendRows(dst []byte, b *source.Batch) ([]byte, error)

	// AppendPieces appends the same bytes as AppendRows, in pieces of about size bytes, so that the text of a large row
	// need not be in memory as a whole. When dst has reached size, it is passed to next, which returns the slice to
	// append to from then on. The last piece is returned, and may be empty. A row that is smaller than 64 KiB is in one
	// piece with all of its text. A piece is at most 400 KiB longer than size, beside the names of the columns or the
	// template. An error of next is returned as it is.
	AppendPieces(dst []byte, b *source.Batch, size int, next func(text []byte) ([]byte, error)) ([]byte, error)
}

// rowEncoder encodes single rows in one format.
type rowEncoder interface {
	// appendRow appends a row that is not lent.
	appendRow(dst []byte, b *source.Batch, row int) ([]byte, error)

	// addRow adds any row, value by value. A failure is the error of the pieces. They go by value, since their address
	// in an interface call would be an allocation.
	addRow(p pieces, b *source.Batch, row int) pieces

	// valuesSize returns the number of bytes that the values of a row take, without escapes.
	valuesSize(b *source.Batch, row int) int
}

// encoder is the [Encoder] of all formats.
type encoder struct {
	rowEncoder
	header  []byte
	rowSize int // bytes of a row without its values
	copies  int // how many times the values of a row may be written, at most
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

// size estimates the number of bytes of the text of a batch. With a large value the estimate is close: one that is too
// small would leave the old and the new buffer in memory at once.
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
		if !b.HasLent() && b.RowBytes(row)*e.copies <= wholeRow {
			p.text, p.err = e.appendRow(p.text, b, row)
		} else {
			p = e.addRow(p, b, row)
		}
		p.cut()
	}
	return p.text, p.err
}
