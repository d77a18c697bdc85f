package canonical

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"culvert/source"
)

// Values makes the canonical text of values. The zero value is ready. It must be used by one goroutine at a time.
type Values struct {
	out  []byte
	json jsonPrinter

	list, element []byte // a list, and a value of one
}

// Text returns the canonical text of a value that a database has printed. It is valid until the next call, and may be
// the text itself.
func (v *Values) Text(t source.Type, text []byte) []byte {
	if canonical, differs := v.canonical(t, text); differs {
		return canonical
	}
	return text
}

// canonical returns the canonical text of a value if it differs.
func (v *Values) canonical(t source.Type, text []byte) (canonical []byte, differs bool) {
	if len(text) > limitOf(t) || isListAsPrinted(t) {
		return nil, false
	}
	if t.List {
		var ok bool
		v.list, ok = v.appendList(v.list[:0], t, text)
		return v.list, ok && !bytes.Equal(v.list, text)
	}
	if t.Class == source.DecimalClass && t.Precision == 0 && len(text) > 0 {
		if canonical, ok := withoutZeros(text); ok {
			return canonical, true
		}
	}
	out, ok := v.out[:0], false
	switch {
	case t.Class == source.BoolClass:
		out, ok = appendBool(out, text)
	case t.Class == source.IntClass:
		out, ok = appendInt(out, text)
	case t.Class == source.FloatClass:
		out, ok = floatsOf(t.Bits).append(out, text)
	case t.Class == source.DecimalClass && t.Precision > 0:
		out, ok = appendDecimal(out, text, max(0, t.Scale))
	case t.Class == source.DecimalClass:
		out, ok = appendDecimal(out, text, noScale)
	case t.Class == source.CharClass && t.Length > 0:
		out, ok = appendPadded(out, text, t.Length)
	case t.Class == source.BytesClass:
		out, ok = appendBytes(out, text)
	case t.Class == source.DateClass:
		out, ok = appendDate(out, text)
	case t.Class == source.TimeClass:
		out, ok = appendTime(out, text)
	case t.Class == source.TimestampClass:
		out, ok = appendTimestamp(out, text)
	case t.Class == source.InstantClass:
		out, ok = appendInstant(out, text)
	case t.Class == source.UUIDClass:
		out, ok = appendUUID(out, text)
	case t.Class == source.JSONClass:
		out, ok = v.json.append(out, text)
	default:
		return nil, false
	}
	v.out = out
	if !ok || bytes.Equal(out, text) {
		return nil, false
	}
	return out, true
}

// shrink frees what large values have left.
func (v *Values) shrink() {
	if cap(v.out) > keptSize {
		v.out = nil
	}
	if cap(v.json.spare)+cap(v.json.keys)+cap(v.json.members)*memberSize > keptSize {
		v.json = jsonPrinter{}
	}
	if cap(v.list) > keptSize || cap(v.element) > keptSize {
		v.list, v.element = nil, nil
	}
}

// limitOf returns the size of the longest text that is read as a type.
func limitOf(t source.Type) int {
	if t.List {
		return keptSize
	}
	switch t.Class {
	case source.JSONClass:
		return MaxJSON
	case source.CharClass:
		return t.Length * utf8.UTFMax
	case source.BytesClass:
		return keptSize // a larger one is printed by a program, in lower case
	default:
		return maxDigits + 64
	}
}

// appendBool appends a word for a boolean, of those that PostgreSQL reads in whole.
func appendBool(dst, text []byte) ([]byte, bool) {
	switch string(text) {
	case "t", "1", "true":
		return append(dst, 't'), true
	case "f", "0", "false":
		return append(dst, 'f'), true
	}
	for _, word := range []string{"t", "true", "y", "yes", "on"} {
		if len(text) == len(word) && strings.EqualFold(string(text), word) {
			return append(dst, 't'), true
		}
	}
	for _, word := range []string{"f", "false", "n", "no", "off"} {
		if len(text) == len(word) && strings.EqualFold(string(text), word) {
			return append(dst, 'f'), true
		}
	}
	return dst, false
}

// appendPadded appends a text of at most n characters, with spaces up to n.
func appendPadded(dst, text []byte, n int) ([]byte, bool) {
	missing := n - utf8.RuneCount(text)
	if missing < 0 {
		return dst, false
	}
	dst = append(dst, text...)
	for range missing {
		dst = append(dst, ' ')
	}
	return dst, true
}

// hexPrefix is before the digits of binary data.
const hexPrefix = `\x`

// appendBytes appends binary data that is printed as hexadecimal digits, of whatever case.
func appendBytes(dst, text []byte) ([]byte, bool) {
	if len(text)%2 != 0 || !bytes.HasPrefix(text, []byte(hexPrefix)) {
		return dst, false
	}
	return appendHex(append(dst, hexPrefix...), text[len(hexPrefix):])
}

// appendHex appends hexadecimal digits in lower case.
func appendHex(dst, digits []byte) ([]byte, bool) {
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f':
		case 'A' <= c && c <= 'F':
			c += 'a' - 'A'
		default:
			return dst, false
		}
		dst = append(dst, c)
	}
	return dst, true
}

// appendUUID appends 128 bits: as they are usually written, in braces, with a hyphen after any four digits or none, or
// as binary data.
func appendUUID(dst, text []byte) ([]byte, bool) {
	const bits = 128
	var digits [bits / 4]byte
	if len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}' {
		text = text[1 : len(text)-1]
	}
	n, hyphens := 0, 0
	for _, c := range bytes.TrimPrefix(text, []byte(hexPrefix)) {
		if c == '-' && n%4 == 0 && n > hyphens && n < len(digits) {
			hyphens = n // only one at a place
			continue
		}
		if n == len(digits) {
			return dst, false
		}
		digits[n] = c
		n++
	}
	var lower [bits / 4]byte
	all, ok := appendHex(lower[:0], digits[:n])
	if !ok || len(all) != len(lower) {
		return dst, false
	}
	for i, c := range all {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			dst = append(dst, '-')
		}
		dst = append(dst, c)
	}
	return dst, true
}
