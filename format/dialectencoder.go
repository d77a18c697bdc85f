package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"culvert/source"
)

var _ Format = Dialect{}

// Extension returns ".csv".
func (Dialect) Extension() string { return ".csv" }

// Encoder returns an encoder of rows in the dialect, with the names of the columns as its header unless it has none.
// Values are quoted if they need it, if they are empty, if a space or tab is at an end, which ClickHouse leaves out,
// and if they have a backslash and so does Null, since readers that know \N know other escapes too. In what is quoted,
// quotes are doubled, or escaped if there is an escape. Without quotes, line ends and tabs are escaped with letters if
// there are letters.
//
// A dialect is not written that leaves out what is written: Comment, Skip and Trim; nor with Names of its own. A value
// that cannot be written, since it would be read as another one, is a [*ValueError].
func (d Dialect) Encoder(columns []source.Column) (Encoder, error) {
	err := d.Check()
	switch {
	case err != nil:
		return nil, err
	case d.Comment != "" || d.Skip > 0 || d.Trim || d.Names != nil:
		return nil, errors.New("format: csv: comment, skip, trim and names are for reading")
	}
	settings := d.String()
	again, _, err := ParseDialect(settings)
	if err != nil || !reflect.DeepEqual(again.explicit(), d.explicit()) || !utf8.ValidString(settings) {
		return nil, fmt.Errorf("format: csv: no settings say what is meant, which a manifest needs, not %q", settings)
	}
	if !d.readsNull() {
		return nil, fmt.Errorf("format: csv: %q cannot stand for NULL beside the escape %q", d.Null, d.Escape)
	}
	e := &dialectRows{
		dialect: d, delimiter: d.delimiter(), quote: d.quote(), lineEnd: d.LineEnd, escape: d.Escape,
		single: len(columns) == 1,
	}
	if e.lineEnd == "" {
		e.lineEnd = "\n"
	}
	e.special['\n'], e.special['\r'], e.special[e.delimiter[0]] = true, true, true
	if !d.Unquoted {
		e.special[e.quote] = true
	}
	if d.Escape != 0 {
		e.special[d.Escape] = true
	}
	if bytes.IndexByte([]byte(d.Null), '\\') >= 0 {
		e.special['\\'] = true
	}
	for _, c := range columns {
		e.names = append(e.names, c.Name)
	}
	var header []byte
	if d.Mark {
		header = append(header, "\ufeff"...)
	}
	for i, name := range e.names {
		if d.NoHeader {
			break
		}
		if i > 0 {
			header = append(header, e.delimiter...)
		}
		var ok bool
		if header, ok = e.appendValue(header, []byte(name)); !ok || i == 0 && e.isMark([]byte(name)) {
			return nil, &ValueError{Column: name, Reason: "its name cannot be written in the dialect"}
		}
	}
	if !d.NoHeader {
		header = append(header, e.lineEnd...)
	}
	size := max(1, len(columns))*(len(e.delimiter)+len(d.Null)) + len(e.lineEnd)
	return &encoder{rowEncoder: e, header: header, rowSize: size, copies: 1}, nil
}

// readsNull reports whether the text for NULL is read as such: not if an escape in it has another meaning.
func (d Dialect) readsNull() bool {
	names := []string{"a", "b"}
	read := Dialect{
		Delimiter: d.Delimiter, Quote: d.Quote, Unquoted: d.Unquoted, Null: d.Null, Escape: d.Escape,
		Escapes: d.Escapes, LineEnd: "\n", NoHeader: true, Names: names,
	}
	r, err := read.Reader(strings.NewReader(d.Null + d.delimiter() + d.Null + read.LineEnd))
	if err != nil {
		return false
	}
	text, err := io.ReadAll(r)
	return err == nil && string(text) == "a,b\n,\n"
}

// dialectRows encodes rows in a dialect.
type dialectRows struct {
	dialect            Dialect
	delimiter, lineEnd string
	quote, escape      byte
	special            [256]bool // the value needs quotes, or the byte an escape
	single             bool
	names              []string
}

func (e *dialectRows) appendRow(dst []byte, b *source.Batch, row int) ([]byte, error) {
	for column := range b.Columns() {
		if column > 0 {
			dst = append(dst, e.delimiter...)
		}
		kind, value := b.Value(row, column)
		ok := true
		switch {
		case kind == source.Null:
			dst = append(dst, e.dialect.Null...)
		case kind == source.Bytes:
			var digits [256]byte
			dst, ok = e.appendValue(dst, appendHex(digits[:0], value))
		default:
			dst, ok = e.appendValue(dst, value)
		}
		if !ok || e.beginsWithMark(column, kind, value) {
			return dst, e.unfit(row, column)
		}
	}
	return append(dst, e.lineEnd...), nil
}

func (e *dialectRows) unfit(row, column int) error {
	return &ValueError{
		Column: e.names[column], Row: int64(row) + 1,
		Reason: "without a quote or an escape, it would be read as something else",
	}
}

// appendValue appends a value, and reports whether it can be written.
func (e *dialectRows) appendValue(dst, value []byte) ([]byte, bool) {
	switch {
	case e.dialect.Unquoted:
		if string(value) == e.dialect.Null {
			return e.appendAsNull(dst, value)
		}
		return e.appendEscaped(dst, value)
	case e.isPlain(value):
		return append(dst, value...), true
	}
	dst = append(dst, e.quote)
	dst = e.appendQuoted(dst, value)
	return append(dst, e.quote), true
}

func (e *dialectRows) isPlain(value []byte) bool {
	if len(value) == 0 || string(value) == e.dialect.Null || e.single && string(value) == `\.` {
		return false
	}
	if isSpace(value[0]) || isSpace(value[len(value)-1]) || bytes.HasPrefix(value, mark) {
		return false
	}
	for _, c := range value {
		if e.special[c] {
			return false
		}
	}
	return true
}

// mark is the byte order mark of UTF-8. At the beginning of a text, a reader takes it for that.
var mark = []byte("\ufeff")

// isMark reports whether a value without quotes would be read as a byte order mark, if it comes first in a file.
func (e *dialectRows) isMark(value []byte) bool {
	return e.dialect.Unquoted && !e.dialect.Mark && bytes.HasPrefix(value, mark)
}

// beginsWithMark reports whether a value may come first in a file, and would be read as a byte order mark.
func (e *dialectRows) beginsWithMark(column int, kind source.Kind, value []byte) bool {
	return column == 0 && kind != source.Bytes && e.dialect.NoHeader && e.isMark(value)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// appendQuoted appends what is between quotes.
func (e *dialectRows) appendQuoted(dst, value []byte) []byte {
	if e.escape == 0 && e.quote == '"' {
		return appendDoubles(dst, value)
	}
	for _, c := range value {
		switch {
		case e.escape != 0 && (c == e.quote || c == e.escape):
			dst = append(dst, e.escape)
		case c == e.quote:
			dst = append(dst, c)
		}
		dst = append(dst, c)
	}
	return dst
}

// appendAsNull appends a value without quotes that is the text for NULL.
func (e *dialectRows) appendAsNull(dst, value []byte) ([]byte, bool) {
	if len(value) == 0 || e.escape == 0 || value[0] != e.escape {
		return dst, false
	}
	return e.appendEscaped(dst, value) // which escapes the escape
}

// appendEscaped appends a value without quotes.
func (e *dialectRows) appendEscaped(dst, value []byte) ([]byte, bool) {
	letters := e.dialect.Escapes == EscapeLetters
	for _, c := range value {
		letter, isBare := letterFor(c), c == '\\' && e.delimiter[0] != '\\'
		switch {
		case !e.special[c] && (!letters || letter == 0), e.escape == 0 && isBare:
			dst = append(dst, c)
		case e.escape == 0 || e.dialect.Escapes == EscapeQuoted:
			return dst, false
		case letters && letter != 0:
			dst = append(dst, e.escape, letter)
		case letters && !isEscapable(c):
			return dst, false
		case isBare && e.escape != '\\':
			dst = append(dst, c)
		default:
			dst = append(dst, e.escape, c)
		}
	}
	return dst, true
}

// isEscapable reports whether a character after the escape is itself where letters have a meaning.
func isEscapable(c byte) bool {
	itself, ok := letterOf(c)
	return ok && itself == c
}

// letterFor returns the letter for a character that all readers of such escapes know, or 0.
func letterFor(c byte) byte {
	switch c {
	case 0:
		return '0'
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	}
	return 0
}

func (e *dialectRows) addRow(p pieces, b *source.Batch, row int) pieces {
	for column := range b.Columns() {
		if column > 0 {
			p.addString(e.delimiter)
		}
		kind, value := b.AnyValue(row, column)
		ok := true
		switch {
		case kind == source.Null:
			p.addString(e.dialect.Null)
		case len(value) <= part:
			if kind == source.Bytes {
				value = appendHex(nil, value)
			}
			p.text, ok = e.appendValue(p.text, value)
		default:
			ok = e.addLarge(&p, kind, value)
		}
		if !ok || e.beginsWithMark(column, kind, value) {
			p.err = e.unfit(row, column)
		}
		if p.cut(); p.err != nil {
			return p
		}
	}
	p.addString(e.lineEnd)
	return p
}

// addLarge adds a value in parts.
func (e *dialectRows) addLarge(p *pieces, kind source.Kind, value []byte) bool {
	ok, appendPart := true, e.appendQuoted
	if e.dialect.Unquoted {
		appendPart = func(dst, part []byte) []byte {
			dst, is := e.appendEscaped(dst, part)
			ok = ok && is
			return dst
		}
	}
	text := value
	if kind == source.Bytes {
		text = []byte(`\x0123456789abcdef`) // what it can become
	}
	quote := !e.dialect.Unquoted && !e.isPlain(text)
	if quote {
		p.text = append(p.text, e.quote)
	}
	if kind == source.Bytes {
		p.text = appendPart(p.text, []byte(`\x`))
		p.addParts(value, anyBytes, func(dst, part []byte) []byte { return appendPart(dst, appendHex(nil, part)[2:]) })
	} else {
		p.add(value, appendPart)
	}
	if quote {
		p.text = append(p.text, e.quote)
	}
	return ok
}

func (*dialectRows) valuesSize(b *source.Batch, row int) int { return (&csvRows{}).valuesSize(b, row) }
