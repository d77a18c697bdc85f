package typed

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"

	"culvert/format"
	"culvert/source"
)

// Elements reads the elements of an array of one dimension, as PostgreSQL prints it: {1,NULL,"a, b"}.
type Elements struct {
	binary  bool // the elements are binary data, as hexadecimal digits
	rest    []byte
	scratch []byte
}

const notOneList = "it is no array of one dimension whose elements are numbered from 1, which a list is"

// Begin begins to read an array of a column.
func (e *Elements) Begin(c *Column, kind source.Kind, text []byte) Reason {
	last := len(text) - 1
	if kind == source.Bytes || last < 1 || text[0] != '{' || text[last] != '}' {
		return notOneList
	}
	e.binary, e.rest = c.Element.Logical.Class == source.BytesClass, text[1:]
	if last == 1 {
		e.rest = nil
	}
	return ""
}

// More reports whether there is another element.
func (e *Elements) More() bool { return len(e.rest) > 0 }

// Next returns the next element. It is valid until the next call.
func (e *Elements) Next() (kind source.Kind, value []byte, why Reason) {
	kind = source.Text
	if e.rest[0] == '"' {
		value, why = e.quoted()
	} else {
		end := 0
		for ; end < len(e.rest)-1 && e.rest[end] != ','; end++ {
			if c := e.rest[end]; c <= ' ' || c == '"' || c == '\\' || c == '{' || c == '}' {
				return kind, nil, notOneList
			}
		}
		value, e.rest = e.rest[:end], e.rest[end:]
		switch {
		case end == 0:
			return kind, nil, notOneList
		case len(value) == len("NULL") && strings.EqualFold(string(value), "NULL"):
			kind, value = source.Null, nil
		}
	}
	if why != "" {
		return kind, nil, why
	}
	switch { // what is behind the element
	case len(e.rest) == 1 && e.rest[0] == '}':
		e.rest = nil
	case len(e.rest) > 2 && e.rest[0] == ',':
		e.rest = e.rest[1:]
	default:
		return kind, nil, notOneList
	}
	if !e.binary || kind == source.Null {
		return kind, value, ""
	}
	digits, is := bytes.CutPrefix(value, []byte(`\x`))
	n, err := hex.Decode(e.scratch[:cap(e.scratch)], digits) // over the digits themselves, since they are in quotes
	if !is || err != nil {
		return kind, nil, "it has an element that is not binary data"
	}
	return source.Bytes, e.scratch[:n], ""
}

// quoted returns the text of an element in quotes.
func (e *Elements) quoted() ([]byte, Reason) {
	e.scratch = e.scratch[:0]
	for i := 1; i < len(e.rest); i++ {
		switch c := e.rest[i]; {
		case c == '"':
			e.rest = e.rest[i+1:]
			return e.scratch, ""
		case c == '\\' && i+1 < len(e.rest):
			i++
			e.scratch = append(e.scratch, e.rest[i])
		default:
			e.scratch = append(e.scratch, c)
		}
	}
	return nil, notOneList
}

// Lists has the elements of a column of lists one after the other.
type Lists struct {
	Batch  source.Batch // a row of one column for each element
	Counts []int        // how many each list has, or -1 for a NULL
	reader Elements
}

// Set takes the lists of a column of a batch.
func (l *Lists) Set(c *Column, b *source.Batch, column int) error {
	l.Counts = l.Counts[:0]
	l.Batch.Reset(1)
	for row := range b.Rows() {
		kind, text := b.AnyValue(row, column)
		if kind == source.Null {
			if err := c.Null(row); err != nil {
				return err
			}
			l.Counts = append(l.Counts, -1)
			continue
		}
		before := l.Batch.Rows()
		why := l.reader.Begin(c, kind, text)
		for why == "" && l.reader.More() {
			if kind, text, why = l.reader.Next(); why == "" {
				l.Batch.Append(kind, text)
				l.Batch.EndRow()
			}
		}
		if why != "" {
			return c.Unfit(row, why)
		}
		l.Counts = append(l.Counts, l.Batch.Rows()-before)
	}
	return nil
}

// Placed returns the error of an element as that of the row whose list has it.
func (l *Lists) Placed(err error) error {
	unfit, is := errors.AsType[*format.ValueError](err)
	if !is {
		return err
	}
	before := int64(0)
	for row, n := range l.Counts {
		if before += int64(max(0, n)); unfit.Row <= before {
			return &format.ValueError{
				Column: unfit.Column, Row: int64(row) + 1, Reason: "of one of its elements, " + unfit.Reason,
			}
		}
	}
	return err
}

// Free frees the memory that large lists have used.
func (l *Lists) Free() {
	const most = 4 << 20
	if l.Batch.Memory() > most || cap(l.Counts) > most/8 || cap(l.reader.scratch) > most {
		*l = Lists{}
	}
}
