package format

import (
	"bytes"
	"math/bits"
)

// maxDepth is how deep JSON may be nested. PostgreSQL is limited only by its stack: to a depth between 12,000 and
// 20,000 with the default max_stack_depth of 2 MB, and to less than maxDepth with the 7 MB that most systems allow.
const maxDepth = 70_000

// validJSON reports whether text is one JSON value (RFC 8259). It does not check bytes above 0x7f in strings.
func validJSON(text []byte) bool {
	end, ok := scanValue(text, skipSpace(text, 0), 0)
	return ok && skipSpace(text, end) == len(text)
}

// validNumber reports whether text is one JSON number.
func validNumber(text []byte) bool {
	end, ok := scanNumber(text, 0)
	return ok && end == len(text)
}

// oneLine returns valid JSON without the white space around it if that has a line break, and whether white space
// between its tokens has to be left out too.
func oneLine(text []byte) (_ []byte, spans bool) {
	if !breaks(text) {
		return text, false
	}
	text = bytes.Trim(text, outerSpace)
	return text, breaks(text)
}

func breaks(text []byte) bool {
	return bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0
}

const outerSpace = " \t\r\n" // the white space of JSON

// appendLine appends valid JSON on one line. If it contains a line break, white space is left out as [oneLine] says.
func appendLine(dst, text []byte) []byte {
	text, spans := oneLine(text)
	if !spans {
		return append(dst, text...)
	}
	for i := 0; ; {
		i = skipSpace(text, i)
		if i == len(text) {
			return dst
		}
		end := i + 1
		if text[i] == '"' {
			end, _ = scanString(text, end)
		}
		dst = append(dst, text[i:end]...)
		i = end
	}
}

// The scan functions read one element of JSON that begins at text[i], and return the index after it.

func scanValue(text []byte, i, depth int) (end int, ok bool) {
	if i == len(text) {
		return i, false
	}
	switch text[i] {
	case '{', '[':
		if depth == maxDepth {
			return i, false
		}
		if text[i] == '{' {
			return scanObject(text, i+1, depth+1)
		}
		return scanArray(text, i+1, depth+1)
	case '"':
		return scanString(text, i+1)
	case 't':
		return scanWord(text, i, "true")
	case 'f':
		return scanWord(text, i, "false")
	case 'n':
		return scanWord(text, i, "null")
	default:
		return scanNumber(text, i)
	}
}

// scanObject begins after the brace.
func scanObject(text []byte, i, depth int) (end int, ok bool) {
	i = skipSpace(text, i)
	if i < len(text) && text[i] == '}' {
		return i + 1, true
	}
	for {
		i = skipSpace(text, i)
		if i == len(text) || text[i] != '"' {
			return i, false
		}
		if i, ok = scanString(text, i+1); !ok {
			return i, false
		}
		i = skipSpace(text, i)
		if i == len(text) || text[i] != ':' {
			return i, false
		}
		if i, ok = scanValue(text, skipSpace(text, i+1), depth); !ok {
			return i, false
		}
		i = skipSpace(text, i)
		switch {
		case i < len(text) && text[i] == ',':
			i++
		case i < len(text) && text[i] == '}':
			return i + 1, true
		default:
			return i, false
		}
	}
}

// scanArray begins after the bracket.
func scanArray(text []byte, i, depth int) (end int, ok bool) {
	i = skipSpace(text, i)
	if i < len(text) && text[i] == ']' {
		return i + 1, true
	}
	for {
		if i, ok = scanValue(text, skipSpace(text, i), depth); !ok {
			return i, false
		}
		i = skipSpace(text, i)
		switch {
		case i < len(text) && text[i] == ',':
			i++
		case i < len(text) && text[i] == ']':
			return i + 1, true
		default:
			return i, false
		}
	}
}

// scanString begins after the quote.
func scanString(text []byte, i int) (end int, ok bool) {
	for {
		plain, _ := plainLength(text[i:])
		i += plain
		switch {
		case i == len(text):
			return i, false
		case text[i] == '"':
			return i + 1, true
		case text[i] != '\\' || i+1 == len(text):
			return i, false
		}
		switch text[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if i+6 > len(text) || !isHex(text[i+2]) || !isHex(text[i+3]) || !isHex(text[i+4]) || !isHex(text[i+5]) {
				return i, false
			}
			i += 6
		default:
			return i, false
		}
	}
}

func scanWord(text []byte, i int, word string) (end int, ok bool) {
	end = i + len(word)
	if end > len(text) || string(text[i:end]) != word {
		return i, false
	}
	return end, true
}

func scanNumber(text []byte, i int) (end int, ok bool) {
	if i < len(text) && text[i] == '-' {
		i++
	}
	start := i
	if i = skipDigits(text, i); i == start || (text[start] == '0' && i > start+1) {
		return i, false
	}
	if i < len(text) && text[i] == '.' {
		start = i + 1
		if i = skipDigits(text, start); i == start {
			return i, false
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		start = i
		if i = skipDigits(text, start); i == start {
			return i, false
		}
	}
	return i, true
}

func skipDigits(text []byte, i int) int {
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	return i
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// appendQuoted appends text as a JSON string, and reports whether it is known to be ASCII.
func appendQuoted(dst, text []byte) (out []byte, ascii bool) {
	dst, ascii = appendEscaped(append(dst, '"'), text)
	return append(dst, '"'), ascii
}

// appendEscaped appends the characters between the quotes.
func appendEscaped(dst, text []byte) (out []byte, ascii bool) {
	const digits = "0123456789abcdef"
	ascii = true
	for {
		plain, plainASCII := plainLength(text)
		ascii = ascii && plainASCII
		dst = append(dst, text[:plain]...)
		if plain == len(text) {
			return dst, ascii
		}
		switch c := text[plain]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
		}
		text = text[plain+1:]
	}
}

// plainLength returns the length of the prefix of text without escapes in a JSON string: up to a quote, a backslash or
// a control character. It also reports whether the prefix is known to be ASCII.
func plainLength(text []byte) (n int, ascii bool) {
	var seen uint64
	for ; len(text)-n >= 8; n += 8 {
		w := word(text[n:])
		seen |= w
		if found := hasByte(w, '"') | hasByte(w, '\\') | hasLess(w, 0x20); found != 0 {
			return n + bits.TrailingZeros64(found)/8, seen&highBits == 0
		}
	}
	for ; n < len(text); n++ {
		c := text[n]
		seen |= uint64(c)
		if c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	return n, seen&highBits == 0
}
