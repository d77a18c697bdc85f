package read

import (
	"encoding/binary"
	"errors"
	"fmt"

	"culvert/source"
)

var errWrongRow = errors.New("the server sent a row that is not as it has described it")

// add adds a row as the server sends it: the number of its values, and of each its size, or -1 for NULL, and its bytes.
func (r *rows) add(b *source.Batch, row []byte) error {
	const number, size = 2, 4 // bytes
	if len(row) < number || int(binary.BigEndian.Uint16(row)) != len(r.encodings) {
		return errWrongRow
	}
	row = row[number:]
	for i := range r.encodings {
		if len(row) < size {
			return errWrongRow
		}
		n := int(int32(binary.BigEndian.Uint32(row)))
		if row = row[size:]; n == -1 {
			b.AppendNull()
			continue
		}
		if n < 0 || n > len(row) {
			return errWrongRow
		}
		value := row[:n]
		row = row[n:]
		encoding := &r.encodings[i]
		if encoding.Print != nil {
			var ok bool
			if r.text, ok = encoding.Print(r.text[:0], value); !ok {
				return r.wrongLength(i, value)
			}
			value = r.text
		}
		b.Append(encoding.Kind, value)
	}
	b.EndRow()
	r.received++
	return nil
}

// lend adds a value of a large row.
func (r *rows) lend(b *source.Batch, column int, value []byte) error {
	encoding := &r.encodings[column]
	switch {
	case value == nil:
		b.Lend(source.Null, nil)
	case encoding.Print == nil:
		b.Lend(encoding.Kind, value)
	default:
		text, ok := encoding.Print(nil, value)
		if !ok {
			return r.wrongLength(column, value)
		}
		b.Lend(encoding.Kind, text)
	}
	return nil
}

func (r *rows) wrongLength(column int, value []byte) error {
	return fmt.Errorf("the server sent %d bytes for column %q", len(value), r.columns[column].Name)
}

// isLarge reports whether a row is too large to be copied.
func isLarge(values [][]byte) bool {
	size := 0
	for _, value := range values {
		size += len(value)
	}
	return size > source.BatchSize
}
