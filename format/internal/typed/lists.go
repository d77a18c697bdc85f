package typed

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"culvert/format"
	"culvert/source"
)

// Elements reads the elements of an array of one dimension, as PostgreSQL prints it: {1,NULL,"a, b"}. Drivers of other
// systems return lists, which are JSON: [1,null,"a, b"].
type Elements struct {
	of      *Column
	rest    []byte
	scratch []byte
	json    *json.Decoder // of JSON, in place of the rest
}

const notOneList = "it is no array of one dimension whose elements are numbered from 1, which a list is"

// Begin begins to read an array of a column.
func (e *Elements) Begin(c *Column, kind source.Kind, text []byte) Reason {
	e.of, e.json = c.Element, nil
	if kind == source.JSON {
		return e.beginJSON(text)
	}
	last := len(text) - 1
	if kind == source.Bytes || last < 1 || text[0] != '{' || text[last] != '}' {
		return notOneList
	}
	if e.rest = text[1:]; last == 1 {
		e.rest = nil
	}
	return ""
}

// More reports whether there is another element.
func (e *Elements) More() bool { return len(e.rest) > 0 || e.json != nil && e.json.More() }

// Next returns the next element. It is valid until the next call.
func (e *Elements) Next() (kind source.Kind, value []byte, why Reason) {
	if e.json != nil {
		return e.nextJSON()
	}
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
	if e.of.Logical.Class == source.BytesClass && kind != source.Null {
		return decoded(value)
	}
	return kind, value, ""
}

// decoded returns binary data in place of its hexadecimal digits. Only what was in quotes has their prefix, so it is a
// copy.
func decoded(value []byte) (source.Kind, []byte, Reason) {
	if digits, is := bytes.CutPrefix(value, []byte(`\x`)); is {
		if n, err := hex.Decode(value, digits); err == nil {
			return source.Bytes, value[:n], ""
		}
	}
	return source.Bytes, nil, "it has an element that is not binary data"
}

// beginJSON begins to read an array of JSON.
func (e *Elements) beginJSON(text []byte) Reason {
	e.rest = nil
	if len(text) == 0 || text[0] != '[' || !json.Valid(text) {
		return notOneList
	}
	if !utf8.Valid(text) {
		return "it is not valid UTF-8"
	}
	e.json = json.NewDecoder(bytes.NewReader(text))
	_, _ = e.json.Token() // which begins it
	return ""
}

// nextJSON returns the next element of an array of JSON.
func (e *Elements) nextJSON() (source.Kind, []byte, Reason) {
	var raw json.RawMessage
	if err := e.json.Decode(&raw); err != nil {
		return source.Text, nil, notOneList
	}
	switch first := raw[0]; {
	case first == 'n':
		return source.Null, nil, ""
	case e.of.Logical.Class == source.JSONClass:
		return source.JSON, raw, ""
	case first == 't', first == 'f':
		return source.Bool, raw[:1], ""
	case first == '[', first == '{':
		return source.Text, nil, notOneList
	case first != '"':
		return source.Number, raw, ""
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return source.Text, nil, notOneList
	}
	if e.of.Logical.Class == source.BytesClass {
		return decoded([]byte(text))
	}
	return source.Text, []byte(text), ""
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
	l.reader.json = nil
	const most = 4 << 20
	if l.Batch.Memory() > most || cap(l.Counts) > most/8 || cap(l.reader.scratch) > most {
		*l = Lists{}
	}
}
