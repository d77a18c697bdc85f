package arrow

import (
	"encoding/binary"
	"math"

	"culvert/format/internal/typed"
	"culvert/internal/canonical"
	"culvert/source"
)

// scratch is the memory for one record batch.
type scratch struct {
	present []byte // a bit for each row that is not NULL
	ends    []byte // where each value begins, and the last one ends, in four bytes each
	data    []byte // the values, or booleans of a byte each
	bits    []byte // booleans
	packed  []byte
	nodes   []node
	buffers []buffer
	flat    flat
	values  canonical.Values
	lists   typed.Lists
}

// free keeps the memory of a scratch for the next batch, unless large rows have used much.
func (s *scratch) free() {
	const most = 4 << 20
	for _, b := range []*[]byte{&s.ends, &s.data, &s.packed} {
		if cap(*b) > most {
			*b = nil
		}
	}
	s.lists.Free()
	idle.Put(s)
}

// body writes the buffers of a record batch, one after the other.
type body struct {
	e    *encoder
	s    *scratch
	out  []byte
	at   int                          // bytes of the body so far
	size int                          // of a piece
	next func([]byte) ([]byte, error) // takes a piece, or is nil if there are none
}

// appendBatch appends the message of a batch. The size of its metadata is known before what it says.
func (e *encoder) appendBatch(dst []byte, b *source.Batch, s *scratch) ([]byte, error) {
	if b.Rows() == 0 {
		return dst, nil
	}
	begin := len(dst)
	w := body{e: e, s: s, out: append(dst, make([]byte, e.header)...)}
	if err := w.addColumns(b); err != nil {
		return dst, err
	}
	e.appendBatchHeader(w.out[:begin], s, b.Rows(), w.at)
	return w.out, nil
}

func (w *body) addColumns(b *source.Batch) error {
	w.s.nodes, w.s.buffers = w.s.nodes[:0], w.s.buffers[:0]
	for i := range w.e.columns {
		if err := w.addColumn(&w.e.columns[i], b, i); err != nil {
			return err
		}
	}
	return nil
}

// addColumn adds a column of a batch.
func (w *body) addColumn(c *typed.Column, b *source.Batch, column int) error {
	switch {
	case c.Element != nil:
		return w.addLists(c, b, column)
	case c.Size == 0:
		return w.addTexts(c, b, column)
	default:
		return w.addValues(c, b, column)
	}
}

// addLists adds a column of lists: where each ends, and their elements as a column.
func (w *body) addLists(c *typed.Column, b *source.Batch, column int) error {
	s := w.s
	if err := s.lists.Set(c, b, column); err != nil {
		return err
	}
	s.present = s.present[:0]
	s.ends = binary.LittleEndian.AppendUint32(s.ends[:0], 0)
	end, nulls := 0, 0
	for row, count := range s.lists.Counts {
		kind := source.Text
		if count < 0 {
			kind = source.Null
			nulls++
		}
		s.mark(row, kind)
		end += max(0, count)
		s.ends = binary.LittleEndian.AppendUint32(s.ends, uint32(end))
	}
	err := w.addPresent(b.Rows(), nulls)
	if err == nil {
		err = w.addBuffer(s.ends)
	}
	if err != nil {
		return err
	}
	return s.lists.Placed(w.addColumn(c.Element, &s.lists.Batch, 0))
}

// addValues adds a column whose values have a size. A NULL has one too, of zeros.
func (w *body) addValues(c *typed.Column, b *source.Batch, column int) error {
	s := w.s
	data, nulls, hasInts := s.data[:0], 0, c.HasInts()
	s.present = s.present[:0]
	for row := range b.Rows() {
		kind, value := b.AnyValue(row, column)
		if s.mark(row, kind); kind == source.Null {
			if err := c.Null(row); err != nil {
				return err
			}
			nulls++
			data = append(data, zeros[:c.Size]...)
			continue
		}
		if hasInts && kind != source.Bytes {
			if v, ok := c.Int(value); ok {
				data = c.AppendInt(data, v)
				continue
			}
		}
		var why typed.Reason
		if data, why = c.Append(data, kind, value, &s.values); why != "" {
			return c.Unfit(row, why)
		}
	}
	s.data = data
	if c.Logical.Class == source.BoolClass {
		s.bits = appendBits(s.bits[:0], data)
		data = s.bits
	}
	if err := w.addPresent(b.Rows(), nulls); err != nil {
		return err
	}
	return w.addBuffer(data)
}

// addTexts adds a column whose values are as long as they are.
func (w *body) addTexts(c *typed.Column, b *source.Batch, column int) error {
	s := w.s
	inPieces := w.next != nil
	s.present, s.data = s.present[:0], s.data[:0]
	s.ends = binary.LittleEndian.AppendUint32(s.ends[:0], 0)
	end, nulls := 0, 0
	for row := range b.Rows() {
		kind, value := b.AnyValue(row, column)
		if s.mark(row, kind); kind == source.Null {
			if err := c.Null(row); err != nil {
				return err
			}
			nulls++
		} else {
			if why := c.Check(kind, value); why != "" {
				return c.Unfit(row, why)
			}
			if end += len(value); end > math.MaxInt32 {
				return c.Unfit(row, "its batch is too large: the values of a column in it must have less than 2 GiB")
			}
			if !inPieces {
				s.data = append(s.data, value...)
			}
		}
		s.ends = binary.LittleEndian.AppendUint32(s.ends, uint32(end))
	}
	if err := w.addPresent(b.Rows(), nulls); err != nil {
		return err
	}
	if err := w.addBuffer(s.ends); err != nil {
		return err
	}
	if inPieces {
		return w.addPieces(b, column, end)
	}
	return w.addBuffer(s.data)
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

// addPresent adds the buffer that says which rows have a value. It is empty if all have one.
func (w *body) addPresent(values, nulls int) error {
	w.s.nodes = append(w.s.nodes, node{values, nulls})
	if nulls == 0 {
		return w.addBuffer(nil)
	}
	return w.addBuffer(w.s.present)
}

// appendBits appends bytes of 0 or 1 as bits, the lowest first.
func appendBits(dst, values []byte) []byte {
	for i, v := range values {
		if i%8 == 0 {
			dst = append(dst, 0)
		}
		dst[len(dst)-1] |= v << (i % 8)
	}
	return dst
}

// stored says, in place of the size that a buffer had before it was compressed, that it is as it was.
const stored = math.MaxUint64

// addBuffer adds a buffer. Compressed, it has its size before it; an empty one has nothing.
func (w *body) addBuffer(data []byte) error {
	if w.next != nil && len(data) > frameSize {
		return w.addSplit(data)
	}
	begin := w.at
	before := len(w.out)
	switch {
	case len(data) == 0:
	case w.e.codec == nil:
		w.out = append(w.out, data...)
	default:
		w.out = w.e.codec.AppendFrame(binary.LittleEndian.AppendUint64(w.out, uint64(len(data))), data)
		if len(w.out)-before >= prefix+len(data) {
			w.out = append(binary.LittleEndian.AppendUint64(w.out[:before], stored), data...)
		}
	}
	if err := w.pass(before); err != nil {
		return err
	}
	return w.endBuffer(begin)
}

// endBuffer notes the buffer that began at a place, and adds zeros up to where the next one begins.
func (w *body) endBuffer(begin int) error {
	w.s.buffers = append(w.s.buffers, buffer{begin, w.at - begin})
	before := len(w.out)
	w.out = append(w.out, zeros[:padding(w.at, w.e.alignment())]...)
	return w.pass(before)
}

// pass counts what was added, and passes a full piece on.
func (w *body) pass(before int) (err error) {
	w.at += len(w.out) - before
	if w.next != nil && len(w.out) >= w.size {
		w.out, err = w.next(w.out)
	}
	return err
}
