package source

import (
	"math"
	"slices"
	"strconv"
)

// BatchSize is the number of bytes at which a [Batch] is full, unless [Batch.SetLimit] changes it. It is large enough
// that the overhead of a batch is small, and small enough that several batches per core stay in the cache and in the
// memory bound.
const BatchSize = 1 << 20

// Batch is a reusable group of whole rows. All values are in one buffer, one after the other. The zero value is ready
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
	unused   int // consecutive calls of Reset that found much unused memory
	lending  bool
	lent     [][]byte // the values of the last row, if it is lent
	lentFrom int      // the first cell of that row
	lentSize int
}

// cell is the end of a value in data, shifted left by a byte, and its kind.
type cell uint64

// keptUnused is the number of batches without a large row after which the memory of an earlier one is freed. If it were
// freed at once, each large row would leave its size as garbage.
const keptUnused = 4

// Reset empties the batch for rows with the given number of columns. It reuses memory. The memory of a large row is
// freed if none of the next few batches needs a quarter of it.
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
		// At once, since growing in steps would leave several times as much garbage. Unused memory is not resident.
		b.data = make([]byte, 0, b.full()+b.full()/16)
	}
	clear(b.lent)
	b.data, b.cells, b.lent = b.data[:0], b.cells[:0], b.lent[:0]
	b.columns, b.rows, b.binary, b.lentSize = columns, 0, 0, 0
}

// Grow makes room for a row of n bytes, so that a large row does not make the batch grow in steps, which leave garbage.
func (b *Batch) Grow(n int) {
	if n > cap(b.data)-len(b.data) {
		b.data = append(make([]byte, 0, len(b.data)+n), b.data...)
	}
}

// AvailableBuffer returns an empty slice with room for n bytes, in the memory of the batch. It is for values that are
// made by appending, and must be passed to Append at once, which then does not move them:
//
//	b.Append(source.Bytes, hex.AppendDecode(b.AvailableBuffer(len(digits)/2), digits))
func (b *Batch) AvailableBuffer(n int) []byte {
	b.data = slices.Grow(b.data, n)
	return b.data[len(b.data):]
}

// Append adds the next value of the current row. It copies the bytes.
func (b *Batch) Append(kind Kind, value []byte) {
	if kind == Bytes {
		b.binary += len(value)
	}
	b.data = append(b.data, value...)
	b.endValue(kind)
}

// SetLending sets whether rows may be lent, until it is called again. Callers that set it must finish a batch for which
// [Batch.HasLent] is true before they ask for the next rows, must read its values by [Batch.AnyValue], and must read
// each of the Rows of a [Divider] in a goroutine of its own.
func (b *Batch) SetLending(lending bool) { b.lending = lending }

// Lending reports whether Lend may be called.
func (b *Batch) Lending() bool { return b.lending }

// Lend adds the next value of the current row without copying it. The value must not change until the caller asks for
// the next rows. It is for rows of more than [BatchSize] bytes, if [Batch.Lending] is true. Either all values of a row
// are lent or none, and the batch is full after that row.
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

// lentCell ends after all data, so that Value panics instead of returning other bytes.
const lentCell = cell(math.MaxInt&(1<<55-1)) << 8

// HasLent reports whether a row is lent. Its values are valid only until the caller asks for the next rows.
func (b *Batch) HasLent() bool { return len(b.lent) > 0 }

// AppendNull adds a NULL as the next value of the current row.
func (b *Batch) AppendNull() { b.endValue(Null) }

// AppendInt adds an integer as the next value of the current row.
func (b *Batch) AppendInt(v int64) {
	b.data = strconv.AppendInt(b.data, v, 10)
	b.endValue(Number)
}

// AppendFloat adds a number as the next value of the current row: the shortest decimal that reads back as v, or NaN,
// Infinity or -Infinity. The layout is PostgreSQL's for double precision, with an exponent below 1e-4 and from 1e15.
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

// SetRowSize sets the number of bytes that each row takes as text in addition to its values, until it is called again.
// Full counts them, so that a batch of small values in many columns does not become a text many times its size.
func (b *Batch) SetRowSize(size int) { b.rowSize = size }

// SetLimit sets the number of bytes at which the batch is full, at most 1 GiB, until it is called again. 0 means
// [BatchSize]. Less is better if rows are written without compression, since writing overlaps with the work of the
// database; 64 KiB is enough.
func (b *Batch) SetLimit(size int) { b.limit = min(max(size, 0), 1<<30) }

// Full reports whether the batch has reached its limit, in memory or as text. It also counts the bookkeeping of values,
// so that a batch of rows of NULLs, or without columns, becomes full too.
func (b *Batch) Full() bool {
	return len(b.lent) > 0 || max(b.Size()+8*len(b.cells)+b.rows, b.TextSize()) >= b.full()
}

// TextSize returns the approximate size of the rows as text. It counts binary data twice, since it becomes hexadecimal
// digits. It does not count escapes.
func (b *Batch) TextSize() int { return b.Size() + b.binary + b.rows*b.rowSize }

// Release empties the batch and frees its memory.
func (b *Batch) Release() {
	*b = Batch{rowSize: b.rowSize, limit: b.limit, lending: b.lending}
}

// Memory returns the number of bytes allocated for values, used or not.
func (b *Batch) Memory() int { return cap(b.data) }

// full returns the number of bytes at which the batch is full.
func (b *Batch) full() int {
	if b.limit == 0 {
		return BatchSize
	}
	return b.limit
}

// Rows returns the number of complete rows.
func (b *Batch) Rows() int { return b.rows }

// Columns returns the number of values in each row.
func (b *Batch) Columns() int { return b.columns }

// Size returns the number of bytes of all values.
func (b *Batch) Size() int { return len(b.data) + b.lentSize }

// RowBytes returns the number of bytes of the values of a complete row.
func (b *Batch) RowBytes(row int) int {
	first, end := row*b.columns, (row+1)*b.columns
	if len(b.lent) > 0 && end > b.lentFrom {
		return b.lentSize
	}
	return b.start(end) - b.start(first)
}

// start returns where the value of a cell begins.
func (b *Batch) start(i int) int {
	if i == 0 {
		return 0
	}
	return int(b.cells[i-1] >> 8)
}

// AnyValue returns a value of any complete row, lent or not, as Value does. The bytes of a lent row are valid until the
// caller asks for the next rows.
func (b *Batch) AnyValue(row, column int) (Kind, []byte) {
	if i := row*b.columns + column; len(b.lent) > 0 && i >= b.lentFrom {
		return Kind(b.cells[i] & 0xff), b.lent[i-b.lentFrom]
	}
	return b.Value(row, column)
}

// Value returns a value of a complete row that is not lent. The bytes belong to the batch and are valid until the next
// Reset or Append.
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

// AppendFrom adds the values of a complete row of another batch that is not lent, from the column first up to, but not
// including, the column end. It copies the bytes of all of them at once.
func (b *Batch) AppendFrom(from *Batch, row, first, end int) {
	cells := from.cells[row*from.columns+first : row*from.columns+end]
	if len(cells) == 0 {
		return
	}
	start := from.start(row*from.columns + first)
	moved := cell(len(b.data)-start) << 8 // it may be negative; the sum is right
	b.data = append(b.data, from.data[start:cells[len(cells)-1]>>8]...)
	for _, c := range cells {
		if Kind(c) == Bytes {
			b.binary += int(c>>8) - start
		}
		start = int(c >> 8)
		b.cells = append(b.cells, c+moved)
	}
}
