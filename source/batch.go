package source

import (
	"math"
	"strconv"
)

// BatchSize is the number of bytes at which a [Batch] is full, unless [Batch.SetLimit] says otherwise: large enough
// that the work around a batch costs little beside the work on its rows, small enough that several per core stay in the
// cache and in the memory bound.
const BatchSize = 1 << 20

// Batch is a reusable group of whole rows. All values lie one behind the other in one buffer. The zero value is ready
// for [Batch.Reset].
//
// A Batch is filled by appending the values of each row in column order:
//
//	b.Reset(2)
//	for !b.Full() && next() {
//		b.Append(source.Number, id)
//		b.AppendNull()
//		b.EndRow()
//	}
type Batch struct {
	data    []byte
	cells   []cell
	columns int
	rows    int
	rowSize int
	limit   int // 0 for BatchSize
}

// cell is the end of a value in data, shifted left by a byte, and its kind.
type cell uint64

// Reset empties the batch for rows of the given number of columns. It keeps the memory of earlier use, except what an
// outsized row has added.
func (b *Batch) Reset(columns int) {
	if cap(b.data) > 4*max(b.full(), BatchSize) {
		b.data = nil
	}
	if cap(b.cells) > max(b.full(), BatchSize) {
		b.cells = nil
	}
	if cap(b.data) < b.full() {
		// At once, since growing to this size would leave as much garbage several times over. What is not used is not
		// resident.
		b.data = make([]byte, 0, b.full()+b.full()/16)
	}
	b.data, b.cells = b.data[:0], b.cells[:0]
	b.columns, b.rows = columns, 0
}

// Append adds the next value of the current row; the bytes are copied.
func (b *Batch) Append(kind Kind, value []byte) {
	b.data = append(b.data, value...)
	b.endValue(kind)
}

// AppendNull adds a NULL as the next value of the current row.
func (b *Batch) AppendNull() { b.endValue(Null) }

// AppendInt adds an integer as the next value of the current row.
func (b *Batch) AppendInt(v int64) {
	b.data = strconv.AppendInt(b.data, v, 10)
	b.endValue(Number)
}

// AppendFloat adds a number as the next value of the current row: the shortest decimal that reads back as v, or
// NaN, Infinity or -Infinity. It is laid out as PostgreSQL prints a double precision, with an exponent below 1e-4 and
// from 1e15.
func (b *Batch) AppendFloat(v float64) {
	switch {
	case math.IsInf(v, 1):
		b.data = append(b.data, "Infinity"...)
	case math.IsInf(v, -1):
		b.data = append(b.data, "-Infinity"...)
	default:
		verb := byte('f')
		if abs := math.Abs(v); abs != 0 && abs < 1e-4 || abs >= 1e15 {
			verb = 'e'
		}
		b.data = strconv.AppendFloat(b.data, v, verb, -1, 64)
	}
	b.endValue(Number)
}

func (b *Batch) endValue(kind Kind) {
	b.cells = append(b.cells, cell(len(b.data))<<8|cell(kind))
}

// EndRow completes the current row. It panics if the row does not have as many values as the batch has columns.
func (b *Batch) EndRow() {
	b.rows++
	if len(b.cells) != b.rows*b.columns {
		panic("source: row and columns of batch differ in length")
	}
}

// SetRowSize says how many bytes each row will take, beside its values, in the text that is made of it. Full counts
// them, so that a batch of small values in many columns does not become a text many times its size. It holds until it
// is set again.
func (b *Batch) SetRowSize(size int) { b.rowSize = size }

// SetLimit says at how many bytes the batch is full, in place of [BatchSize]. Less is better where rows go straight to
// their end, without compression: that is then done while the database makes the next ones, and 64 KiB are enough. It
// holds until it is set again; 0 is BatchSize, and the most is 1 GiB.
func (b *Batch) SetLimit(size int) { b.limit = min(max(size, 0), 1<<30) }

// Full reports whether the batch has reached its limit, in memory or as text. In memory the bookkeeping of the values
// is counted, so that rows of NULLs, or of no columns, also come to an end.
func (b *Batch) Full() bool {
	return len(b.data)+max(8*len(b.cells)+b.rows, b.rows*b.rowSize) >= b.full()
}

// full is the number of bytes at which the batch is full.
func (b *Batch) full() int {
	if b.limit == 0 {
		return BatchSize
	}
	return b.limit
}

// Rows is the number of complete rows.
func (b *Batch) Rows() int { return b.rows }

// Columns is the number of values in each row.
func (b *Batch) Columns() int { return b.columns }

// Size is the number of bytes of all values together.
func (b *Batch) Size() int { return len(b.data) }

// Value gives a value of a complete row. The bytes belong to the batch and hold until the next Reset or Append.
func (b *Batch) Value(row, column int) (Kind, []byte) {
	i := row*b.columns + column
	start := 0
	if i > 0 {
		start = int(b.cells[i-1] >> 8)
	}
	c := b.cells[i]
	end := int(c >> 8)
	return Kind(c & 0xff), b.data[start:end:end]
}
