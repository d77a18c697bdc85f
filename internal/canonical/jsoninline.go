package canonical

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101 // of eight bytes
	highs = ones << 7
)

// maxLookDepth is how deep arrays and objects may be in each other in JSON that is read where it is.
const maxLookDepth = 32

// jsonInLine brings JSON in a quoted field of CSV, where each quote is written twice, to its canonical text. It reads
// it once, and copies only what is between two differences: nothing, if there is none. It gives up at what is rare,
// which a [jsonPrinter] prints: escapes by number, exponents, long numbers, deep nesting. Its methods return where what
// they take ends, or less than 0.
type jsonInLine struct {
	jsonObjects        // whose keys are the line, and whose out is the canonical line
	taken       int    // so much of the line is in out
	deep        int    // of what is open
	high        bool   // a byte is beyond ASCII
	special     bool   // a character needs the quotes of the field
	scalars     []span // of the line: the first ones
	shapes      shapes
}

// field takes the quoted field that begins at a place of a line. If it returns less than 0, nothing has changed.
func (j *jsonInLine) field(line []byte, at int) (end int) {
	begin, taken := len(j.out), j.taken
	j.keys, j.members, j.deep, j.high, j.special = line, j.members[:0], 0, false, false
	j.scalars = j.scalars[:0]
	text := line[:min(len(line), at+2*MaxJSON)]
	end = j.value(text, j.skip(text, at+1))
	if end >= 0 {
		end = j.skip(text, end)
	}
	switch {
	case end < 0 || byteAt(line, end) != '"' || byteAt(line, end+1) == '"' || !j.special,
		j.high && !utf8.Valid(line[at:end]),
		j.taken > at && end-at > MaxJSON: // whether it is too large, its text says
		j.out, j.taken = j.out[:begin], taken
		end = -2
	}
	j.keys = nil
	return end + 1
}

// byteAt returns a byte, or 0 beyond the end.
func byteAt(line []byte, at int) byte {
	if at >= len(line) {
		return 0
	}
	return line[at]
}

// copy copies the line up to a place, and goes on after it.
func (j *jsonInLine) copy(line []byte, to, after int) {
	j.out = append(j.out, line[j.taken:to]...)
	j.taken = after
}

// skip leaves out white space.
func (j *jsonInLine) skip(line []byte, at int) int {
	if byteAt(line, at) > ' ' {
		return at
	}
	start := at
	for at < len(line) && isSpace(line[at]) {
		at++
	}
	if at > start {
		j.copy(line, start, at)
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// space takes white space of which one space remains, or inserts it.
func (j *jsonInLine) space(line []byte, at int) int {
	if byteAt(line, at) == ' ' {
		return j.skip(line, at+1)
	}
	j.copy(line, at, at)
	j.out = append(j.out, ' ')
	return j.skip(line, at)
}

func (j *jsonInLine) value(line []byte, at int) int {
	switch byteAt(line, at) {
	case '{':
		return j.object(line, at+1)
	case '[':
		return j.array(line, at+1)
	}
	end, next := j.scalar(line, at, allEscapes)
	if next > end {
		j.copy(line, end, next)
	}
	if len(j.scalars) <= maxScalars {
		j.scalars = append(j.scalars, span{uint32(at), uint32(next)})
	}
	return next
}

// scalar takes a string, a number or a word. It returns where its canonical text ends, and where it does itself.
func (j *jsonInLine) scalar(line []byte, at int, allowed escapes) (end, next int) {
	switch byteAt(line, at) {
	case '"':
		next = j.string(line, at, allowed)
	case 't':
		next = literal(line, at, "true")
	case 'f':
		next = literal(line, at, "false")
	case 'n':
		next = literal(line, at, "null")
	default:
		return jsonNumber(line, at)
	}
	return next, next
}

func literal(line []byte, at int, text string) int {
	if end := at + len(text); end <= len(line) && string(line[at:end]) == text {
		return end
	}
	return -1
}

func (j *jsonInLine) array(line []byte, at int) int {
	if j.deep++; j.deep > maxLookDepth {
		return -1
	}
	at = j.skip(line, at)
	if byteAt(line, at) == ']' {
		j.deep--
		return at + 1
	}
	for {
		if at = j.value(line, at); at < 0 {
			return at
		}
		at = j.skip(line, at)
		switch byteAt(line, at) {
		case ',':
			j.special = true
			at = j.space(line, at+1)
		case ']':
			j.deep--
			return at + 1
		default:
			return -1
		}
	}
}

func (j *jsonInLine) object(line []byte, at int) int {
	if j.deep++; j.deep > maxLookDepth {
		return -1
	}
	at = j.skip(line, at)
	if byteAt(line, at) == '}' {
		j.deep--
		return at + 1
	}
	first, ordered := len(j.members), true
	for {
		m := member{key: span{start: uint32(at + 2)}, start: j.place(at)}
		if at = j.string(line, at, noEscapes); at < 0 {
			return at
		}
		m.key.end = uint32(at - 2)
		if n := len(j.members); n > first {
			ordered = ordered && j.compare(j.members[n-1].key, m.key) < 0
		}
		at = j.skip(line, at)
		if byteAt(line, at) != ':' {
			return -1
		}
		if at = j.value(line, j.space(line, at+1)); at < 0 {
			return at
		}
		m.end = j.place(at)
		j.members = append(j.members, m)
		at = j.skip(line, at)
		switch byteAt(line, at) {
		case ',':
			at = j.space(line, at+1)
		case '}':
			if !ordered {
				j.copy(line, at, at)
				j.order(first)
			}
			j.members = j.members[:first]
			j.deep--
			return at + 1
		default:
			return -1
		}
	}
}

// place returns where in out a place of the line is, or will be.
func (j *jsonInLine) place(at int) uint32 { return uint32(len(j.out) + at - j.taken) }

// escapes says which escapes a string may have.
type escapes int

const (
	noEscapes   escapes = iota // as a key, which is compared
	sameEscapes                // only those that jsonb prints
	allEscapes                 // and others, which change
)

// string takes a string, whose quotes are written twice.
func (j *jsonInLine) string(line []byte, at int, allowed escapes) int {
	if at+1 >= len(line) || line[at] != '"' || line[at+1] != '"' {
		return -1
	}
	j.special = true
	for at += 2; ; {
		at = j.plain(line, at)
		switch byteAt(line, at) {
		case '"':
			if byteAt(line, at+1) != '"' {
				return -1
			}
			return at + 2
		case '\\':
			if allowed == noEscapes {
				return -1
			}
		default:
			return -1 // a control character, or the end
		}
		switch byteAt(line, at+1) {
		case 'b', 'f', 'n', 'r', 't', '\\':
			at += 2
		case '/':
			if allowed < allEscapes {
				return -1
			}
			j.copy(line, at, at+1)
			at += 2
		case '"':
			if byteAt(line, at+2) != '"' {
				return -1
			}
			at += 3
		default:
			return -1
		}
	}
}

// plain returns the place of the next byte that is no plain character: a control character, a quote or a backslash. It
// looks at eight bytes at a time, and finds the lowest of these as fieldEnd does.
func (j *jsonInLine) plain(line []byte, at int) int {
	for at+word <= len(line) {
		w := binary.LittleEndian.Uint64(line[at:])
		quote, backslash := w^ones*'"', w^ones*'\\'
		found := ((w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
		if w&highs != 0 {
			j.high = true
		}
		if found != 0 {
			return at + bits.TrailingZeros64(found)/word
		}
		at += word
	}
	for at < len(line) && isPlain[line[at]] {
		if line[at] >= utf8.RuneSelf {
			j.high = true
		}
		at++
	}
	return at
}

// jsonNumber takes a number without an exponent. Zeros at the end of its fraction are not in its canonical text.
func jsonNumber(line []byte, at int) (end, next int) {
	const long = 100
	start, negative := at, byteAt(line, at) == '-'
	if negative {
		at++
	}
	from := at
	for at < len(line) && isDigit(line[at]) {
		at++
	}
	whole := at - from
	if whole == 0 || line[from] == '0' && (whole > 1 || negative && byteAt(line, at) != '.') {
		return -1, -1
	}
	end = at
	if byteAt(line, at) == '.' {
		for at++; at < len(line) && isDigit(line[at]); at++ {
			if line[at] != '0' {
				end = at + 1
			}
		}
		if at == from+whole+1 || negative && line[from] == '0' && end == from+whole {
			return -1, -1 // -0 has no sign
		}
	}
	if c := byteAt(line, at); c == 'e' || c == 'E' || at-start > long {
		return -1, -1
	}
	return end, at
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isNothing reports whether JSON has no values, or is null.
func isNothing(text []byte) bool {
	return bytes.Equal(text, []byte("{}")) || bytes.Equal(text, []byte("[]")) || bytes.Equal(text, []byte("null"))
}
