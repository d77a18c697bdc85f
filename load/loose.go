package load

import (
	"bytes"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
)

// checked is a column of PostgreSQL that refuses values of another system which it would change.
type checked struct {
	source.Column
	index   int
	grammar grammar.Grammar
}

// checkedOf finds these columns, except for those whose type may change values.
func checkedOf(table []source.Column, convert []string) []checked {
	var found []checked
	for i, c := range table {
		if g := grammar.Postgres(c.Type); g != nil && !slices.Contains(convert, c.Name) {
			found = append(found, checked{c, i, g})
		}
	}
	return found
}

// keeps returns an error for the first value that its column would change.
func (p *preparer) keeps(b *source.Batch) error {
	for row := range b.Rows() {
		for i := range p.checked {
			c := &p.checked[i]
			kind, value := b.AnyValue(row, c.index)
			if kind == source.Null {
				continue
			}
			if reason := c.grammar(kind, value); reason != "" {
				refused := &sink.RowError{
					Table: p.table, Row: int64(row) + 1, Column: c.Name, Code: codeInvalid, Err: sink.Changed(reason),
				}
				if !p.redact {
					refused.Value = sink.Shorten(string(value[:min(len(value), 2*sink.MaxValue)]))
				}
				return refused
			}
		}
	}
	return nil
}

// codeInvalid is the SQLSTATE of a text that is none of a type.
const codeInvalid = "22P02"

// infinity is how SQLite, which reads no name for it, prints an infinite number.
var infinity = []byte("9.0e+999")

// infiniteOf finds the columns of a table in which an infinite number has a name.
func infiniteOf(table []source.Column) []int {
	var found []int
	for i, c := range table {
		if c.Type == "real" || c.Type == "double precision" || strings.HasPrefix(c.Type, "numeric") {
			found = append(found, i)
		}
	}
	return found
}

// octetsOf finds the columns of binary data, where text would be read as an escape of it.
func octetsOf(table []source.Column) []int {
	var found []int
	for i, c := range table {
		if c.Type == "bytea" {
			found = append(found, i)
		}
	}
	return found
}

var zeroDate = lazyregexp.New(`^\d{4}-(?:00-\d\d|\d\d-00)(?:[ T]|$)`)

// IsZeroDate reports whether a text is a date of MySQL whose month or day is zero, with or without a time, which other
// systems do not have. A column of PostgreSQL that may change values ([sink.Filling.Convert]) has NULL in its place.
func IsZeroDate(text string) bool { return zeroDate.MatchString(text) }

// zerosOf finds the columns of dates that may change values.
func zerosOf(table []source.Column, convert []string) []int {
	var found []int
	for i, c := range table {
		if (c.Type == "date" || strings.HasPrefix(c.Type, "timestamp")) && slices.Contains(convert, c.Name) {
			found = append(found, i)
		}
	}
	return found
}

// plain returns the rows with the names of infinite numbers, text as the binary data of its bytes in columns of such
// data, and NULL for zero dates where they may become that: in the same batch, unless it has any.
func (p *preparer) plain(b *source.Batch) *source.Batch {
	isInfinite := func(row, column int) bool {
		kind, value := b.AnyValue(row, column)
		return kind == source.Number && bytes.Equal(bytes.TrimPrefix(value, []byte("-")), infinity)
	}
	isZero := func(row, column int) bool {
		kind, value := b.AnyValue(row, column)
		return kind != source.Null && zeroDate.Match(value)
	}
	isText := func(row, column int) bool {
		kind, _ := b.AnyValue(row, column)
		return kind != source.Null && kind != source.Bytes
	}
	found := false
	for row := range b.Rows() {
		for _, column := range p.infinite {
			found = found || isInfinite(row, column)
		}
		for _, column := range p.octets {
			found = found || isText(row, column)
		}
		for _, column := range p.zeros {
			found = found || isZero(row, column)
		}
	}
	if !found {
		return b
	}
	made := new(source.Batch)
	made.Reset(b.Columns())
	for row := range b.Rows() {
		for column := range b.Columns() {
			kind, value := b.AnyValue(row, column)
			switch {
			case kind == source.Null, slices.Contains(p.zeros, column) && isZero(row, column):
				made.AppendNull()
				continue
			case slices.Contains(p.infinite, column) && isInfinite(row, column):
				value = bytes.Replace(value, infinity, []byte("Infinity"), 1)
			case slices.Contains(p.octets, column):
				kind = source.Bytes
			}
			made.Append(kind, value)
		}
		made.EndRow()
	}
	return made
}
