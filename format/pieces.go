package format

import (
	"encoding/base64"
	"encoding/hex"
	"unicode/utf8"

	"culvert/source"
)

const (
	wholeRow = 64 << 10 // the most bytes of a row that is appended as a whole
	part     = 12 << 10 // the most bytes of a value that are added at once; a multiple of 3, for base64
)

// pieces passes text on in pieces while it is made.
type pieces struct {
	text []byte
	size int
	next func(text []byte) ([]byte, error)
	err  error // nothing is added after it

	lines Lines // is shown the row that is being added, or nil
	shown int   // bytes of text that lines has seen, or that precede the row
}

// cut passes the text on if it is long enough.
func (p *pieces) cut() {
	if len(p.text) >= p.size && p.err == nil {
		p.show()
		p.text, p.err = p.next(p.text)
		p.shown = len(p.text)
	}
}

// show shows the new text of the row.
func (p *pieces) show() {
	if p.lines != nil && len(p.text) > p.shown {
		p.lines.Part(p.text[p.shown:])
	}
}

func (p *pieces) addString(s string) { p.text = append(p.text, s...) }

// add appends a value in parts. No part ends within a character, so the parts of a valid value are valid.
func (p *pieces) add(value []byte, appendPart func(dst, part []byte) []byte) {
	p.addParts(value, wholeRunes, appendPart)
}

// addHex appends binary data, as appendHex does.
func (p *pieces) addHex(value []byte) {
	p.addString(`\x`)
	p.addParts(value, anyBytes, hex.AppendEncode)
}

func (p *pieces) addParts(value []byte, length func([]byte, int) int, appendPart func(dst, part []byte) []byte) {
	for len(value) > 0 && p.err == nil {
		n := length(value, part)
		p.text = appendPart(p.text, value[:n])
		value = value[n:]
		p.cut()
	}
}

// addField adds a value of CSV, in quotes unless it is plain.
func (p *pieces) addField(value []byte, plain bool) {
	if plain {
		p.add(value, appendPlain)
		return
	}
	p.addString(`"`)
	p.add(value, appendDoubles)
	p.addString(`"`)
}

func anyBytes(value []byte, most int) int { return min(most, len(value)) }

func appendPlain(dst, part []byte) []byte { return append(dst, part...) }

// wholeRunes returns the length of the longest prefix of at most most bytes that does not end within a character. A
// text that is not valid UTF-8 may be cut anywhere, except within a valid character.
func wholeRunes(text []byte, most int) int {
	if len(text) <= most {
		return len(text)
	}
	for back := range utf8.UTFMax {
		if utf8.RuneStart(text[most-back]) {
			return most - back
		}
	}
	return most
}

func (e *jsonlRows) addRow(p pieces, b *source.Batch, row int) pieces {
	for column, key := range e.keys {
		p.text = append(p.text, key...)
		kind, value := b.AnyValue(row, column)
		var ok bool
		if len(value) <= part {
			p.text, ok = e.appendValue(p.text, e.json[column], kind, value)
		} else {
			ok = e.addValue(&p, e.json[column], kind, value)
		}
		if !ok {
			p.err = e.invalid(row, column, value)
		}
		if p.cut(); p.err != nil {
			return p
		}
	}
	p.addString("}\n")
	return p
}

// addValue adds a large value. It fails if the value is not valid UTF-8 and the policy is an error.
func (e *jsonlRows) addValue(p *pieces, c jsonColumn, kind source.Kind, value []byte) (ok bool) {
	valid := kind == source.Bytes || utf8.Valid(value)
	embedded := kind == source.Number && validNumber(value) || kind == source.JSON && c.embeds(value)
	open, end := `"`, `"`
	if kind == source.JSON {
		open, end = textOpen, escapeEnd
	}
	switch {
	case kind == source.Bytes:
		p.addString(`"\`)
		p.addHex(value)
		p.addString(`"`)
	case !valid && e.policy == ErrorOnInvalid:
		return false
	case !valid && e.policy == Base64Invalid:
		p.addString(base64Open)
		p.addParts(value, anyBytes, base64.StdEncoding.AppendEncode)
		p.addString(escapeEnd)
	case embedded && valid:
		p.addLine(value, appendPlain)
	case embedded:
		p.addLine(value, appendReplaced)
	default:
		escape := appendEscapes
		if !valid {
			escape = appendReplacedEscapes
		}
		p.addString(open)
		p.add(value, escape)
		p.addString(end)
	}
	return true
}

// addLine adds valid JSON on one line, as appendLine does.
func (p *pieces) addLine(text []byte, appendPart func(dst, part []byte) []byte) {
	text, spans := oneLine(text)
	if !spans {
		p.add(text, appendPart)
		return
	}
	for i := skipSpace(text, 0); i < len(text) && p.err == nil; {
		end := i + 1
		if text[i] == '"' {
			end, _ = scanString(text, end)
		}
		p.add(text[i:end], appendPart)
		i = skipSpace(text, end)
	}
}

func appendReplaced(dst, part []byte) []byte { return append(dst, replaceInvalid(part)...) }

func appendEscapes(dst, part []byte) []byte {
	dst, _ = appendEscaped(dst, part)
	return dst
}

func appendReplacedEscapes(dst, part []byte) []byte { return appendEscapes(dst, replaceInvalid(part)) }
