package parquet

import (
	"encoding/binary"

	"culvert/format/internal/typed"
	"culvert/internal/canonical"
	"culvert/source"
)

// What an encoder passes to an assembler is a sequence of records: a kind, the size of the rest in four bytes, and the
// rest. A block is one record; a row group of large rows is several, see large.go.
const (
	blockRecord = 'b'
	groupRecord = 'g' // a row group of its own begins: its rows
	bytesRecord = 'r' // of the file
	chunkRecord = 'c' // a column of that row group ends

	recordHead = 5
)

// The block of a batch has the number of its rows, and for each column, in order:
//
//	form       1         plain, delta or ids
//	entries    varint    rows, but of lists see lists.go
//	nulls      varint    entries without a value
//	bounds               the least and the greatest value, see bounds
//	hashes               of values, if the column has a bloom filter: their number, and eight bytes each
//	plain, delta:
//	  size     varint    of the page, before it is compressed
//	  page     bytes     compressed: levels, values
//	ids:
//	  levels   bytes     with their own size before them
//	  entries  varint    values in the dictionary
//	  values   bytes     the dictionary, as PLAIN stores it
//	  count    varint    of ids
//	  ids                of two bytes each
//
// Bytes have their length before them, as a varint. A column whose values repeat is sent with ids, since all blocks of
// a row group share the dictionary, which only the assembler has.
const (
	plainForm = 'p'
	deltaForm = 'd'
	idsForm   = 'i'
)

// scratch is the memory for one block.
type scratch struct {
	page    []byte // levels and values of a page
	packed  []byte // compressed, or booleans of a byte each
	present []byte // a bit for each row that is not NULL
	repeats repeats
	values  canonical.Values
	bounds  bounds
	hashes  []byte // of values, for a bloom filter
	lists   typed.Lists
}

func beginRecord(dst []byte, kind byte) []byte { return append(dst, kind, 0, 0, 0, 0) }

// endRecord sets the size of the record that begins at a place.
func endRecord(dst []byte, at int) []byte {
	binary.LittleEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-recordHead))
	return dst
}

func appendSized(dst, v []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}

// appendBlock appends the block of a batch.
func (e *encoder) appendBlock(dst []byte, b *source.Batch, s *scratch) ([]byte, error) {
	at := len(dst)
	dst = binary.AppendUvarint(beginRecord(dst, blockRecord), uint64(b.Rows()))
	for i := range e.columns {
		var err error
		if dst, err = e.appendColumn(dst, b, i, s); err != nil {
			return dst, err
		}
	}
	return endRecord(dst, at), nil
}

// appendColumn appends a column of a block.
func (e *encoder) appendColumn(dst []byte, b *source.Batch, i int, s *scratch) ([]byte, error) {
	list := e.columns[i].list
	if list == nil {
		return e.appendValues(dst, b, i, i, s)
	}
	err := s.lists.Set(list, b, i)
	if err == nil {
		dst, err = e.appendValues(dst, &s.lists.Batch, i, 0, s)
		err = s.lists.Placed(err)
	}
	return dst, err
}

// appendValues appends the column i of a block, whose values, or elements of lists, are a column of a batch.
func (e *encoder) appendValues(dst []byte, b *source.Batch, i, at int, s *scratch) ([]byte, error) {
	c := &e.columns[i]
	if c.physical != boolean && !e.varied[i].Load() {
		repeats, err := e.findRepeats(b, i, at, s)
		if err != nil {
			return dst, err
		}
		if repeats {
			return e.appendIDs(dst, b, i, s), nil
		}
	}
	values, nulls := s.packed[:0], 0
	hasInts := c.HasInts()
	s.present = s.present[:0]
	for row := range b.Rows() {
		kind, value := b.AnyValue(row, at)
		if s.mark(row, kind); kind == source.Null {
			if err := c.Null(row); err != nil {
				return dst, err
			}
			nulls++
			continue
		}
		if hasInts && kind != source.Bytes {
			if v, ok := c.Int(value); ok {
				values = c.AppendInt(values, v)
				continue
			}
		}
		var why typed.Reason
		if values, why = c.appendValue(values, kind, value, &s.values); why != "" {
			return dst, c.Unfit(row, why)
		}
	}
	s.bounds.find(c, values)
	entries := s.entries(c, b.Rows())
	nulls += entries - b.Rows()
	s.page = s.appendLevels(s.page[:0], c, b.Rows(), nulls)
	form := byte(plainForm)
	if c.physical == boolean {
		s.page = appendBooleans(s.page, values)
	} else {
		form = s.appendNumbers(c, values)
	}
	dst = binary.AppendUvarint(append(dst, form), uint64(entries))
	dst = binary.AppendUvarint(dst, uint64(nulls))
	s.hashes = e.appendHashes(s.hashes[:0], i, values)
	dst = e.appendSums(s.bounds.append(dst), i, s.hashes)
	dst = binary.AppendUvarint(dst, uint64(len(s.page)))
	s.packed = e.codec.AppendFrame(values[:0], s.page)
	return appendSized(dst, s.packed), nil
}

// appendNumbers appends values to the page, in the form that it returns.
func (s *scratch) appendNumbers(c *column, values []byte) (form byte) {
	levels := len(s.page)
	var small bool
	if s.page, small = c.appendDelta(s.page, values); small {
		return deltaForm
	}
	s.page = append(s.page[:levels], values...)
	return plainForm
}

// appendValue appends a value as PLAIN stores it, except that a boolean is a byte.
func (c *column) appendValue(
	dst []byte, kind source.Kind, value []byte, values *canonical.Values,
) ([]byte, typed.Reason) {
	if c.physical != byteArray {
		return c.Append(dst, kind, value, values)
	}
	if why := c.Check(kind, value); why != "" {
		return dst, why
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)))
	return append(dst, value...), ""
}

// setPresent sets which rows have a value, and returns how many have none.
func (s *scratch) setPresent(c *column, b *source.Batch, at int) (nulls int, err error) {
	s.present = s.present[:0]
	for row := range b.Rows() {
		kind, _ := b.AnyValue(row, at)
		if s.mark(row, kind); kind == source.Null {
			if err := c.Null(row); err != nil {
				return nulls, err
			}
			nulls++
		}
	}
	return nulls, nil
}

// mark sets whether the next row has a value.
func (s *scratch) mark(row int, kind source.Kind) {
	if row%8 == 0 {
		s.present = append(s.present, 0)
	}
	if kind != source.Null {
		s.present[row/8] |= 1 << (row % 8)
	}
}

// appendBooleans appends bytes as bits.
func appendBooleans(dst, values []byte) []byte {
	var bits byte
	for i, v := range values {
		bits |= v << (i % 8)
		if i%8 == 7 || i == len(values)-1 {
			dst, bits = append(dst, bits), 0
		}
	}
	return dst
}
