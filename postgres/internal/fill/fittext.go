package fill

import (
	"bytes"
	"encoding/hex"

	"culvert/sink/grammar"
	"culvert/source"
)

// passes reports whether the columns keep all values of a text of CSV, so that it can be loaded as it is. It reads the
// text as the server does, and gives up at anything unusual.
func (f *fit) passes(text []byte) bool {
	if len(f.texts) > 0 && notText(text) != "" {
		return false
	}
	if len(f.columns) == 0 {
		return true
	}
	var room []byte
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return false
		}
		if bytes.IndexByte(text[:end], '"') >= 0 {
			if end = f.passesQuoted(text, &room); end < 0 {
				return false
			}
		} else if !f.passesPlain(text[:end]) {
			return false
		}
		text = text[end+1:]
	}
	return true
}

// passesPlain is passes for a row without quotes.
func (f *fit) passesPlain(row []byte) bool {
	row = bytes.TrimSuffix(row, []byte{'\r'})
	at, column := 0, 0
	for i := range f.columns {
		c := &f.columns[i]
		for ; column < c.index; column++ {
			at += valueEnd(row[at:]) + 1
			if at > len(row) {
				return false
			}
		}
		end := at + valueEnd(row[at:])
		if end > at && !c.keeps(row[at:end]) {
			return false
		}
	}
	return true
}

// valueEnd returns where the first value of a row ends. Most values are short, and then this is faster than a search.
func valueEnd(row []byte) int {
	const short = 24
	for i := range min(len(row), short) {
		if row[i] == ',' {
			return i
		}
	}
	if len(row) > short {
		if i := bytes.IndexByte(row[short:], ','); i >= 0 {
			return short + i
		}
	}
	return len(row)
}

// passesQuoted is passes for the first row of a text. It returns where the row ends, or -1. Values are in room without
// their doubled quotes; it grows.
func (f *fit) passesQuoted(text []byte, room *[]byte) int {
	next := f.columns
	for at, column := 0, 0; ; column++ {
		start, end, doubled := at, 0, false
		quoted := at < len(text) && text[at] == '"'
		if quoted {
			start++
			if end, doubled = quoteEnd(text, start); end < 0 {
				return -1
			}
			if at = end + 1; at < len(text) && text[at] == '\r' {
				at++
			}
		} else {
			at += special(text[at:])
			end = at
		}
		if at == len(text) || text[at] != ',' && text[at] != '\n' {
			return -1
		}
		if !quoted && text[at] == '\n' && end > start && text[end-1] == '\r' {
			end--
		}
		if len(next) > 0 && next[0].index == column {
			value := text[start:end]
			if doubled {
				*room = appendUndoubled((*room)[:0], value)
				value = *room
			}
			if (quoted || len(value) > 0) && !next[0].keeps(value) {
				return -1
			}
			next = next[1:]
		}
		if text[at] == '\n' {
			if len(next) > 0 {
				return -1
			}
			return at
		}
		at++
	}
}

// special returns the place of the first delimiter, line feed or quote, or the length of the text.
func special(text []byte) int {
	for i, c := range text {
		if c <= ',' && (c == ',' || c == '\n' || c == '"') { // of most values, all characters are behind the comma
			return i
		}
	}
	return len(text)
}

// quoteEnd returns the place of the quote that ends a value, or -1, and whether there are doubled ones before it.
func quoteEnd(text []byte, start int) (end int, doubled bool) {
	for at := start; ; at += 2 {
		i := bytes.IndexByte(text[at:], '"')
		if i < 0 {
			return -1, false
		}
		at += i
		if at+1 >= len(text) || text[at+1] != '"' {
			return at, doubled
		}
		doubled = true
	}
}

// appendUndoubled appends a value with one quote in place of two.
func appendUndoubled(dst, value []byte) []byte {
	for {
		i := bytes.IndexByte(value, '"')
		if i < 0 {
			return append(dst, value...)
		}
		dst = append(dst, value[:i+1]...)
		value = value[i+2:]
	}
}

// keeps reports whether the column keeps a value of a text as it is. The empty value is not NULL.
func (c *fitted) keeps(value []byte) bool {
	switch {
	case c.octets:
		digits, isHex := bytes.CutPrefix(value, []byte(`\x`))
		isHex = isHex && c.digits
		var buf [512]byte
		for isHex && len(digits) > 0 {
			n, err := hex.Decode(buf[:], digits[:min(len(digits), 2*len(buf))])
			isHex = err == nil
			digits = digits[2*n:]
		}
		return isHex
	case c.zeros && grammar.IsZeroDate(value):
		return false
	case c.infinite && len(value) > 0 && value[len(value)-1] == '9' && bytes.HasSuffix(value, infinity):
		return false
	}
	return c.grammar == nil || c.grammar(source.Text, value) == ""
}
