package canonical

import (
	"bytes"
	"unicode/utf8"
)

// maxLookDepth is how deep arrays and objects may be in each other in JSON that is seen to be canonical as it is.
const maxLookDepth = 32

// jsonLook sees whether JSON in a quoted field of CSV is canonical as it is written there, in one pass that copies
// nothing. It gives up at what is rare: escapes, long numbers, deep nesting. Such JSON is printed, and compared.
type jsonLook struct {
	line []byte
	at   int
	last [maxLookDepth]span // the key before, of each open object
	deep int
	high bool // a byte is beyond ASCII
}

// isCanonicalJSON reports whether the quoted field that begins at a place of a line is canonical JSON, and where the
// field ends.
func isCanonicalJSON(line []byte, at int) (end int, is bool) {
	l := jsonLook{line: line, at: at + 1}
	if !l.value() || l.byte() != '"' || l.byteAt(l.at+1) == '"' {
		return 0, false
	}
	end = l.at + 1
	if l.high && !utf8.Valid(line[at:end]) {
		return 0, false
	}
	return end, true
}

// byte returns the next byte, or 0 at the end.
func (l *jsonLook) byte() byte { return l.byteAt(l.at) }

func (l *jsonLook) byteAt(at int) byte {
	if at >= len(l.line) {
		return 0
	}
	return l.line[at]
}

func (l *jsonLook) value() bool {
	switch c := l.byte(); c {
	case '{':
		return l.object()
	case '[':
		return l.array()
	case '"':
		_, ok := l.string()
		return ok
	case 't':
		return l.word("true")
	case 'f':
		return l.word("false")
	case 'n':
		return l.word("null")
	default:
		return l.number()
	}
}

func (l *jsonLook) word(word string) bool {
	if !bytes.HasPrefix(l.line[l.at:], []byte(word)) {
		return false
	}
	l.at += len(word)
	return true
}

// open takes the character that opens an array or an object.
func (l *jsonLook) open() bool {
	l.at++
	l.deep++
	return l.deep <= maxLookDepth
}

// shut takes the one that closes it.
func (l *jsonLook) shut() bool {
	l.at++
	l.deep--
	return true
}

// more takes what is between two values.
func (l *jsonLook) more() bool {
	if l.byte() != ',' || l.byteAt(l.at+1) != ' ' {
		return false
	}
	l.at += 2
	return true
}

func (l *jsonLook) array() bool {
	if !l.open() {
		return false
	}
	if l.byte() == ']' {
		return l.shut()
	}
	for {
		if !l.value() {
			return false
		}
		if l.byte() == ']' {
			return l.shut()
		}
		if !l.more() {
			return false
		}
	}
}

func (l *jsonLook) object() bool {
	if !l.open() {
		return false
	}
	if l.byte() == '}' {
		return l.shut()
	}
	for first := true; ; first = false {
		key, ok := l.string()
		if !ok || l.byte() != ':' || l.byteAt(l.at+1) != ' ' {
			return false
		}
		last := &l.last[l.deep-1]
		if !first && !l.follows(key, *last) {
			return false
		}
		*last = key
		l.at += 2
		if !l.value() {
			return false
		}
		if l.byte() == '}' {
			return l.shut()
		}
		if !l.more() {
			return false
		}
	}
}

// follows reports whether a key comes after another one, as in [jsonPrinter.compare].
func (l *jsonLook) follows(key, last span) bool {
	size, before := key.end-key.start, last.end-last.start
	return size > before || size == before &&
		bytes.Compare(l.line[key.start:key.end], l.line[last.start:last.end]) > 0
}

// string takes a string without escapes, whose quotes are written twice. It returns where its text is.
func (l *jsonLook) string() (text span, ok bool) {
	at, line := l.at+2, l.line
	if at > len(line) || line[l.at] != '"' || line[l.at+1] != '"' {
		return text, false
	}
	start := at
	all := byte(0)
	for at < len(line) && isPlain[line[at]] {
		all |= line[at]
		at++
	}
	l.high = l.high || all >= utf8.RuneSelf
	if l.at = at + 2; l.at > len(line) || line[at] != '"' || line[at+1] != '"' {
		return text, false
	}
	return span{uint32(start), uint32(at)}, true
}

// number takes a number without an exponent, and without zeros that say nothing.
func (l *jsonLook) number() bool {
	const long = 100
	start, negative := l.at, l.byte() == '-'
	if negative {
		l.at++
	}
	from := l.at
	for isDigit(l.byte()) {
		l.at++
	}
	whole := l.at - from
	if whole == 0 || l.line[from] == '0' && whole > 1 || l.at-start > long {
		return false
	}
	if l.byte() != '.' {
		return l.line[from] != '0' || !negative
	}
	l.at++
	from = l.at
	for isDigit(l.byte()) {
		l.at++
	}
	return l.at > from && l.line[l.at-1] != '0' && l.at-start <= long
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
