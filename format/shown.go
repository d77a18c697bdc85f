package format

import (
	"bytes"

	"culvert/source"
)

// shownPiece is the most text of a large row that is shown at once.
const shownPiece = 64 << 10

// shown makes the lines of CSV of rows of JSON Lines, for a sum.
type shown struct {
	lines Lines
	rows  csvRows
	text  []byte
	one   source.Batch // a value that is not in the batch
}

func (d *jsonlDecoder) DecodeLines(b *source.Batch, text []byte, lines Lines) (n int, err error) {
	d.shown.lines, d.shown.rows.single = lines, len(d.fields) == 1
	defer func() { d.shown.lines = nil }()
	return d.Decode(b, text)
}

// show shows the last row of a batch, whose values are in the line.
func (d *jsonlDecoder) show(b *source.Batch, line []byte) {
	s := &d.shown
	p := pieces{text: s.text[:0], size: shownPiece, next: func(text []byte) ([]byte, error) { return text[:0], nil }}
	large := len(line) > shownPiece
	if large {
		p.lines = s.lines
	}
	column := 0
	for i := range d.fields {
		if i > 0 {
			p.addString(",")
		}
		m := &d.values[i]
		if m.row == d.row && m.form != jsonNull {
			value := d.written(b, column, i, line[m.start:m.end])
			if large {
				p.addField(value, csvPlain(value))
			} else {
				p.text = s.rows.appendValue(p.text, value)
			}
		}
		if !d.fields[i].Skip {
			column++
		}
	}
	p.addString("\n")
	if large {
		p.show()
		s.lines.EndLine()
	} else {
		s.lines.Line(p.text)
	}
	s.text = p.text[:0]
}

// written returns the text of a value before it was written. The value that a column of the batch has is the same,
// unless it has been converted.
func (d *jsonlDecoder) written(b *source.Batch, column, field int, raw []byte) []byte {
	f, form := &d.fields[field], d.values[field].form
	switch {
	case form == jsonBool && f.Kind != source.JSON:
		return raw[:1]
	case form == jsonBool, form == jsonNumber:
		return raw
	case form == jsonPlain && f.Kind != source.JSON:
		return raw[1 : len(raw)-1]
	case f.Skip:
		return d.value(f.Kind, form, raw)
	}
	kind, value := b.Value(b.Rows()-1, column)
	switch {
	case kind == source.Bool:
		return d.value(source.Text, form, raw)
	case kind != source.Bytes:
		return value
	case bytes.HasPrefix(raw, []byte(`"\\x`)) && bytes.IndexByte(raw[len(`"\\`):], '\\') < 0:
		return raw[len(`"\`) : len(raw)-len(`"`)]
	}
	return d.value(source.Text, form, raw)
}

// value returns the text of a value.
func (d *jsonlDecoder) value(kind source.Kind, form jsonForm, raw []byte) []byte {
	if kind != source.JSON {
		kind = source.Text
	}
	one := &d.shown.one
	one.Reset(1)
	if !appendJSON(one, kind, form, raw) {
		one.AppendNull() // half of a surrogate pair, which no encoder writes
	}
	one.EndRow()
	_, value := one.Value(0, 0)
	return value
}
