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
	data     []byte
	cells    []cell
	columns  int
	rows     int
	rowSize  int
	limit    int // 0 for BatchSize
	binary   int // bytes of values of the kind Bytes
	unused   int // calls of Reset that found much more memory than was needed, one after the other
	lending  bool
	lent     [][]byte // the values of the last row, if they are lent
	lentFrom int      // the first cell of that row
	lentSize int
}

// cell is the end of a value in data, shifted left by a byte, and its kind.
type cell uint64

// keptUnused is how many batches without a large row may follow one before its memory is given up. To give it up at
// once would have each large row leave its size as garbage.
const keptUnused = 4

// Reset empties the batch for rows of the given number of columns. It keeps the memory of earlier use. What a large row
// has added is given up if no batch of a few that follow needs a quarter of it.
func (b *Batch) Reset(columns int) {
	if b.Memory() <= 2*max(b.full(), BatchSize) || len(b.data) >= cap(b.data)/4 {
		b.unused = 0
	} else if b.unused++; b.unused >= keptUnused {
		b.data, b.unused = nil, 0
	}
	if cap(b.cells) > max(b.full(), BatchSize) {
		b.cells = nil
	}
	if cap(b.data) < b.full() {
		// At once, since growing to this size would leave as much garbage several times over. What is not used is not
		// resident.
		b.data = make([]byte, 0, b.full()+b.full()/16)
	}
	clear(b.lent)
	b.data, b.cells, b.lent = b.data[:0], b.cells[:0], b.lent[:0]
	b.columns, b.rows, b.binary, b.lentSize = columns, 0, 0, 0
}

// Grow makes room for the values of a row, of n bytes together, so that a large row does not make the batch grow in
// steps, each of which leaves garbage.
func (b *Batch) Grow(n int) {
	if n > cap(b.data)-len(b.data) {
		b.data = append(make([]byte, 0, len(b.data)+n), b.data...)
	}
}

// Append adds the next value of the current row; the bytes are copied.
func (b *Batch) Append(kind Kind, value []byte) {
	if kind == Bytes {
		b.binary += len(value)
	}
	b.data = append(b.data, value...)
	b.endValue(kind)
}

// SetLending says whether a row may be lent. It holds until it is set again. Callers that set it are done with a batch
// that [Batch.HasLent] before they ask for the next rows, take its values by [Batch.AnyValue], and read each of the
// parts of a [Divider] in a goroutine of its own.
func (b *Batch) SetLending(lending bool) { b.lending = lending }

// Lending reports whether Lend may be called.
func (b *Batch) Lending() bool { return b.lending }

// Lend adds the next value of the current row without copying it. The value must not change until the reader asks for
// the next rows. It is for rows of more than [BatchSize], after [Batch.SetLending]. Either all values of a row are lent
// or none, and the batch is full after that row.
func (b *Batch) Lend(kind Kind, value []byte) {
	if len(b.lent) == 0 {
		b.lentFrom = len(b.cells)
	}
	if kind == Bytes {
		b.binary += len(value)
	}
	b.lent = append(b.lent, value)
	b.lentSize += len(value)
	b.cells = append(b.cells, lentCell|cell(kind))
}

// lentCell ends behind all data, so that Value panics instead of giving something else.
const lentCell = cell(math.MaxInt&(1<<55-1)) << 8

// HasLent reports whether a row is lent: its values are valid only until the source is asked for the next rows.
func (b *Batch) HasLent() bool { return len(b.lent) > 0 }

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
	if len(b.cells) != b.rows*b.columns || len(b.lent) > 0 && len(b.lent) != b.columns {
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
	return len(b.lent) > 0 || max(b.Size()+8*len(b.cells)+b.rows, b.TextSize()) >= b.full()
}

// TextSize is about the number of bytes that the text of the rows will take: binary data is counted twice, since it
// becomes hexadecimal digits, and what is escaped only once.
func (b *Batch) TextSize() int { return b.Size() + b.binary + b.rows*b.rowSize }

// Release gives up the memory of the batch, which is empty then until the next Reset.
func (b *Batch) Release() {
	*b = Batch{rowSize: b.rowSize, limit: b.limit, lending: b.lending}
}

// Memory is the number of bytes that the batch holds for values, of which most may be unused.
func (b *Batch) Memory() int { return cap(b.data) }

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
func (b *Batch) Size() int { return len(b.data) + b.lentSize }

// RowBytes is the number of bytes of the values of a complete row.
func (b *Batch) RowBytes(row int) int {
	first, end := row*b.columns, (row+1)*b.columns
	if len(b.lent) > 0 && end > b.lentFrom {
		return b.lentSize
	}
	return b.start(end) - b.start(first)
}

// start is where the value of a cell begins.
func (b *Batch) start(i int) int {
	if i == 0 {
		return 0
	}
	return int(b.cells[i-1] >> 8)
}

// AnyValue is Value, also for a row that is lent. The bytes of such a row are valid until the source is asked for the
// next rows.
func (b *Batch) AnyValue(row, column int) (Kind, []byte) {
	if i := row*b.columns + column; len(b.lent) > 0 && i >= b.lentFrom {
		return Kind(b.cells[i] & 0xff), b.lent[i-b.lentFrom]
	}
	return b.Value(row, column)
}

// Value returns a value of a complete row, which must not be lent. The bytes belong to the batch and are valid until
// the next Reset or Append.
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
