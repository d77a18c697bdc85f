package fill

import (
	"bytes"
	"encoding/binary"
	mathbits "math/bits"
	"slices"
	"unicode/utf8"

	"culvert/format"
	"culvert/sink"
	"culvert/source"
)

var (
	_ sink.CSVTable  = (*table)(nil)
	_ sink.CSVLoader = (*loader)(nil)
)

// FromCSV returns what turns CSV into the text of LOAD DATA, if the server takes that.
func (t *table) FromCSV(fields []format.Field) sink.CSVRows {
	skipped := func(f format.Field) bool { return f.Skip }
	if !t.db.infile || len(fields) != len(t.columns) || slices.ContainsFunc(fields, skipped) {
		return nil
	}
	return rowsFrom(t.narrowed(), fields)
}

func rowsFrom(columns []column, fields []format.Field) sink.CSVRows {
	return func(dst, text []byte, shown format.Lines) (made []byte, rows, feeds int64, ok bool) {
		l := lines{writer: writer{columns: columns}, fields: fields, text: text}
		l.value.SetLimit(1 << 10) // for one value, and for large ones it grows
		made, ok = l.appendTo(dst, shown)
		return made, l.rows, l.rows + l.feeds, ok
	}
}

// LoadCSV sends rows that FromCSV has made of CSV.
func (l *loader) LoadCSV(text []byte, rows int64) error {
	return l.Do(func() error {
		if err := l.send(); err != nil {
			return err
		}
		if err := l.wait(); err != nil {
			return err
		}
		l.taken += rows
		l.failed = l.sendPiece(&piece{text: text, held: rows, before: l.taken - rows})
		return l.failed
	})
}

// lines makes the text of LOAD DATA of lines of CSV, in one pass over the bytes: they are copied while the end of the
// value is looked for, eight at a time.
type lines struct {
	writer
	fields []format.Field
	text   []byte
	at     int    // in text
	out    []byte // has more than n bytes
	n      int
	seen   uint64 // has the highest bits of bytes that are not ASCII

	rows, feeds int64 // and the line feeds in values

	value   source.Batch // of one that is not taken as it is
	escaped bool         // the last value has escapes
}

// appendTo returns false, and dst, for whatever is no row of the table as Culvert writes it.
func (l *lines) appendTo(dst []byte, shown format.Lines) ([]byte, bool) {
	l.out, l.n = dst[:cap(dst)], len(dst)
	for l.at < len(l.text) {
		begin := l.at
		for i := range l.columns {
			if !l.field(i) {
				return dst, false
			}
		}
		shown.Line(l.text[begin:l.at])
		l.rows++
	}
	if l.seen&highs != 0 && !utf8.Valid(l.text) {
		return dst, false
	}
	return l.out[:l.n], true
}

// field appends a value, and what follows it.
func (l *lines) field(i int) bool {
	c, text, begin, start := &l.columns[i], l.text, l.at, l.n
	l.escaped = false
	after := byte(',')
	if i == len(l.columns)-1 {
		after = '\n'
	}
	if begin < len(text) && text[begin] == '"' {
		l.at++
		if !l.copy('"') {
			return false
		}
		l.at++
	} else if l.run(','); !l.isAt(after) && !l.copy(',') {
		return false
	}
	if !l.isAt(after) {
		return false
	}
	switch value := l.out[start:l.n]; {
	case l.at == begin && c.now:
		return false
	case l.at == begin:
		l.grow()
		l.n += copy(l.out[l.n:], `\N`)
	case !l.isTold(i) && c.keeps(value, l.escaped):
	case !l.convert(i, begin, start):
		return false
	}
	if after == ',' {
		after = '\t'
	}
	if l.n == len(l.out) {
		l.grow()
	}
	l.out[l.n] = after
	l.n++
	l.at++
	return true
}

// isAt reports whether a byte comes next.
func (l *lines) isAt(c byte) bool { return l.at < len(l.text) && l.text[l.at] == c }

// isTold reports whether a text may be the value of another kind, which is written differently.
func (l *lines) isTold(i int) bool {
	return l.fields[i].Kind == source.Bool || l.fields[i].Kind == source.Bytes
}

// grow makes room for a few bytes.
func (l *lines) grow() {
	if len(l.out)-l.n < eight {
		l.out = slices.Grow(l.out[:l.n], len(l.text)-min(l.at, len(l.text))+2*eight)
		l.out = l.out[:cap(l.out)]
	}
}

// copy copies a value up to its end, which is a quote, or a comma or the end of the line, with escapes.
func (l *lines) copy(end byte) bool {
	for {
		l.run(end)
		if l.at == len(l.text) {
			return end == ','
		}
		switch c := l.text[l.at]; {
		case c == '"' && end == '"':
			if l.at+1 == len(l.text) || l.text[l.at+1] != '"' {
				return true
			}
			l.at++
			l.put(c)
		case c == end, c == '\n' && end == ',':
			return true
		case c == '"', c == '\r' && end == ',':
			return false
		case escapes[c] != 0:
			if c == '\n' {
				l.feeds++
			}
			l.escaped = true
			l.put('\\')
			l.put(escapes[c])
		default:
			l.put(c)
		}
		l.at++
	}
}

func (l *lines) put(c byte) {
	l.grow()
	l.out[l.n] = c
	l.n++
}

// run copies bytes up to the first one that is the end, a quote, a backslash or a control character.
func (l *lines) run(end byte) {
	text, out, at, n, seen := l.text, l.out, l.at, l.n, l.seen
	ends := ones * uint64(end)
	for len(text)-at >= eight {
		if len(out)-n < eight {
			l.n, l.at = n, at
			l.grow()
			out = l.out
		}
		w := binary.LittleEndian.Uint64(text[at:])
		binary.LittleEndian.PutUint64(out[n:], w)
		seen |= w
		end, quote, backslash := w^ends, w^ones*'"', w^ones*'\\'
		found := ((w-ones*' ')&^w | (end-ones)&^end | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
		if found == 0 {
			at, n = at+eight, n+eight
			continue
		}
		plain := mathbits.TrailingZeros64(found) / eight
		at, n = at+plain, n+plain
		if ends != ones*'"' || len(text)-at < 2 || text[at] != '"' || text[at+1] != '"' {
			l.at, l.n, l.seen = at, n, seen
			return
		}
		at, n = at+2, n+1 // frequent in JSON
	}
	l.at, l.n, l.seen = at, n, seen
	for ; l.at < len(text); l.at++ {
		c := text[l.at]
		if c == end || c == '"' || c < ' ' || c == '\\' {
			return
		}
		l.seen |= uint64(c)
		l.put(c)
	}
}

// keeps reports whether a text is sent as it is, for certain. It may have escapes, which make it longer.
func (c *column) keeps(value []byte, escaped bool) bool {
	if escaped && c.class != words && (c.class != other || c.grammar != nil) {
		return false
	}
	switch c.class {
	case whole:
		if isWhole(value) {
			return true
		}
		if hasFraction(value) {
			return false
		}
	case moment:
		sent, err := momentOf(c.size, value)
		if err != nil || len(sent) != len(value) {
			return false
		}
	case words:
	case other:
		if c.errorValue && len(value) == 0 {
			return false
		}
	default:
		return false
	}
	return c.grammar == nil || c.grammar(source.Text, value) == ""
}

// isWhole reports whether a value is a whole number without a sign or zeros before it.
func isWhole(value []byte) bool {
	for _, c := range value {
		if c-'0' > 9 {
			return false
		}
	}
	return len(value) == 1 || len(value) > 1 && value[0] != '0'
}

// convert appends the value whose field begins in the text, and ends where the next one begins, as the writer does.
func (l *lines) convert(i, begin, start int) bool {
	raw := l.text[begin:l.at]
	if raw[0] == '"' {
		raw = bytes.ReplaceAll(raw[1:len(raw)-1], []byte(`""`), []byte(`"`))
	}
	l.value.Reset(1)
	format.AppendAs(&l.value, l.fields[i].Kind, raw)
	l.value.EndRow()
	kind, value := l.value.AnyValue(0, 0)
	out, err := l.appendValue(l.out[:start], &l.columns[i], kind, value)
	if err != nil || l.errorValues > 0 {
		return false
	}
	l.out, l.n = out[:cap(out)], len(out)
	return true
}
