package format

import (
	"bytes"
	"fmt"
	"io"
)

// convertValue converts a value, and reports whether it is the last one of its row.
func (c *converter) convertValue() (isLast bool, err error) {
	start := 0
	if c.dialect.Trim {
		if start, err = c.spaces(0); err != nil {
			return false, err
		}
	}
	if c.isQuoted && c.has(start+1) && c.in[c.at+start] == c.quote {
		return c.convertQuoted(start + 1)
	}
	escapes := false
	for i := 0; ; {
		i = c.stop(i)
		if i == len(c.in)-c.at {
			if c.more() {
				continue
			}
			if c.inErr != io.EOF {
				return false, c.inErr
			}
			return true, c.emit(c.in[c.at:], 0, escapes)
		}
		b := c.in[c.at+i]
		if c.outside && b == c.escape {
			if !c.has(i + 2) {
				return false, c.unended("the text ends after an escape")
			}
			escapes = true
			i += 2
			continue
		}
		n, isLast, err := c.endAt(i)
		if err != nil {
			return false, err
		}
		if n == 0 {
			i++
			continue
		}
		err = c.emit(c.in[c.at:c.at+i], i+n, escapes)
		if isLast && err == nil {
			c.line++
		}
		return isLast, err
	}
}

// endAt returns the size of what ends a value i bytes from here, or 0 if nothing does.
func (c *converter) endAt(i int) (n int, isLast bool, err error) {
	if c.in[c.at+i] == c.delimiter[0] {
		if len(c.delimiter) == 1 {
			return 1, false, nil
		}
		if c.has(i+len(c.delimiter)) && bytes.HasPrefix(c.in[c.at+i:], c.delimiter) {
			return len(c.delimiter), false, nil
		}
		if c.inErr != nil && c.inErr != io.EOF {
			return 0, false, c.inErr
		}
		return 0, false, nil
	}
	n, err = c.lineEndAt(i)
	return n, n > 0, err
}

// unended is the error of a text that ends too early, unless it could not be read.
func (c *converter) unended(reason string) error {
	if c.inErr != io.EOF {
		return c.inErr
	}
	return &RowError{Reason: reason}
}

// spaces returns the index after spaces and tabs that are no delimiters, from i bytes on.
func (c *converter) spaces(i int) (int, error) {
	for ; c.has(i + 1); i++ {
		if b := c.in[c.at+i]; b != ' ' && b != '\t' || bytes.HasPrefix(c.in[c.at+i:], c.delimiter) {
			return i, nil
		}
	}
	if c.inErr != io.EOF {
		return i, c.inErr
	}
	return i, nil
}

// emit writes a value without quotes, and goes on after size bytes; 0 means at the end of the text.
func (c *converter) emit(value []byte, size int, escapes bool) (err error) {
	if size == 0 {
		size = len(value)
	}
	if c.dialect.Trim {
		value = c.trimmed(value, escapes)
	}
	switch {
	case string(value) == c.null && c.isValue():
	case escapes:
		c.line += int64(bytes.Count(value, []byte{'\n'}))
		if c.scratch, err = c.unescape(c.scratch[:0], value, false); err != nil {
			return err
		}
		c.out = c.rows.appendValue(c.out, c.scratch)
	default:
		c.out = c.rows.appendValue(c.out, value)
	}
	c.at += size
	return nil
}

// isValue reports whether the row has values, and not names.
func (c *converter) isValue() bool { return c.row > 0 || c.dialect.NoHeader }

// trimmed is a value without the spaces around it. One that is escaped remains.
func (c *converter) trimmed(value []byte, escapes bool) []byte {
	value = bytes.TrimLeft(value, " \t")
	rest := bytes.TrimRight(value, " \t")
	if escapes && len(rest) < len(value) {
		before := rest
		for len(before) > 0 && before[len(before)-1] == c.escape {
			before = before[:len(before)-1]
		}
		if (len(rest)-len(before))%2 != 0 {
			rest = value[:len(rest)+1]
		}
	}
	return rest
}

// convertQuoted converts a value whose first quote ends i bytes from here.
func (c *converter) convertQuoted(i int) (isLast bool, err error) {
	start, escaped, doubled := i, false, false
	quotes, escapes := finder{b: c.quote, at: -1}, finder{b: c.escape, at: -1}
	for {
		text := c.in[c.at:]
		at, found := quotes.next(text, i)
		if c.escape != 0 && c.escape != c.quote {
			if escape, is := escapes.next(text, i); is && escape < at {
				if !c.has(escape + 2) {
					return false, c.unended("a quote is not closed")
				}
				escaped = true
				i = escape + 1
				if next := c.in[c.at+i]; c.dialect.Escapes != EscapeQuoted || next == c.quote || next == c.escape {
					i++
				}
				continue
			}
		}
		if !found {
			if i = len(text); !c.more() {
				return false, c.unended("a quote is not closed")
			}
			continue
		}
		i = at + 1
		if !c.has(i+1) && c.inErr != io.EOF {
			return false, c.inErr
		}
		if text = c.in[c.at:]; i == len(text) || text[i] != c.quote {
			break
		}
		doubled = true
		i++
	}
	return c.closeQuoted(start, i, escaped, doubled)
}

// finder finds a byte in a text that grows, and looks at each byte once.
type finder struct {
	b       byte
	at, end int // where it is, or end, up to which the text is known
}

// next returns the index of the first b from i bytes on, or the length of the text.
func (f *finder) next(text []byte, i int) (at int, found bool) {
	if f.at < i || f.at == f.end && f.end < len(text) {
		from := max(i, f.at)
		f.at, f.end = len(text), len(text)
		if n := bytes.IndexByte(text[from:], f.b); n >= 0 {
			f.at = from + n
		}
	}
	return f.at, f.at < f.end
}

// closeQuoted writes a value whose last quote ends i bytes from here, and goes on after what ends it.
func (c *converter) closeQuoted(start, i int, escaped, doubled bool) (isLast bool, err error) {
	after := i
	if c.dialect.Trim {
		if after, err = c.spaces(after); err != nil {
			return false, err
		}
	}
	n := 0
	if isLast = !c.has(after + 1); isLast && c.inErr != io.EOF {
		return false, c.inErr
	}
	if !isLast {
		if n, isLast, err = c.endAt(after); err != nil {
			return false, err
		}
		if n == 0 {
			return false, &RowError{Reason: fmt.Sprintf(
				"after the quote that closes it is %q instead of the delimiter %q or the end of the row",
				c.in[c.at+after], c.delimiter)}
		}
	}
	value := c.in[c.at+start : c.at+i-1]
	newline := byte('\n')
	if c.lineEnd == "\r" {
		newline = '\r'
	}
	lines := int64(bytes.Count(value, []byte{newline}))
	switch {
	case doubled && !escaped && c.quote == '"':
		c.out = append(c.out, c.in[c.at+start-1:c.at+i]...) // as CSV has it
	case doubled || escaped:
		if c.scratch, err = c.unescape(c.scratch[:0], value, true); err != nil {
			return false, err
		}
		c.out = c.rows.appendValue(c.out, c.scratch)
	default:
		c.out = c.rows.appendValue(c.out, value)
	}
	c.at += after + n
	c.line += lines
	if isLast {
		c.line++
	}
	return isLast, nil
}

// unescape appends a value without its escapes, and if it was quoted with one quote for two.
func (c *converter) unescape(dst, value []byte, quoted bool) ([]byte, error) {
	for i := 0; i < len(value); i++ {
		b := value[i]
		switch {
		case quoted && b == c.quote: // each is doubled
			i++
		case b == c.escape && c.escape != 0:
			next := value[i+1]
			switch c.dialect.Escapes {
			case EscapeQuoted:
				if next == c.quote || next == c.escape {
					b, i = next, i+1
				}
			case EscapeLetters:
				letter, ok := letterOf(next)
				if !ok {
					return dst, &RowError{Reason: fmt.Sprintf("%q after the escape has no meaning", next)}
				}
				b, i = letter, i+1
			default:
				if c.isSpecial(next) {
					b = next
				} else {
					dst, b = append(dst, b), next
				}
				i++
			}
		}
		dst = append(dst, b)
	}
	return dst, nil
}

func (c *converter) isSpecial(b byte) bool {
	return b == c.escape || b == '\n' || b == '\r' || b == c.delimiter[0] || c.isQuoted && b == c.quote ||
		len(c.comment) > 0 && b == c.comment[0] || c.dialect.Trim && (b == ' ' || b == '\t')
}

// letterOf returns what a character after the escape stands for, if it has a meaning.
func letterOf(b byte) (byte, bool) {
	switch b {
	case '0':
		return 0, true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'v':
		return '\v', true
	case 'Z':
		return 0x1a, true
	}
	isNone := '1' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
	return b, !isNone
}
