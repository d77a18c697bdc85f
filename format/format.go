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
package format

import (
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

	// AppendRows appends all rows of a batch, whose values it does not retain. On an error dst is returned as far as it
	// got, and must not be used as output.
	AppendRows(dst []byte, b *source.Batch) ([]byte, error)
}
