package canonical

import (
	"bytes"
	"cmp"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// MaxJSON is the size of the largest JSON that is brought to its canonical text, which takes at most 10 times as
	// much memory.
	MaxJSON = 1 << 20

	// maxDepth is how deep arrays and objects may be in each other.
	maxDepth = 1000
)

// jsonPrinter prints JSON as jsonb does. It prints each object as it reads it, and then puts its members in order.
type jsonPrinter struct {
	jsonObjects // whose keys have no escapes
	text        []byte
	at          int
	first       int // where the text begins in out
	depth       int
}

// jsonObjects puts the members of objects in order.
type jsonObjects struct {
	out     []byte   // what is printed
	members []member // of the objects that are open
	keys    []byte
	spare   []byte
}

// memberSize is the size of a member in bytes. JSON may consist of little but members.
const memberSize = 16

// member is a member of an object that is printed: its key, and where it is, without the comma.
type member struct {
	key        span   // of keys
	start, end uint32 // of out
}

type span struct{ start, end uint32 }

// append appends the canonical text of JSON. It reports false if jsonb refuses it.
func (p *jsonPrinter) append(dst, text []byte) ([]byte, bool) {
	if !utf8.Valid(text) {
		return dst, false
	}
	p.text, p.at, p.out, p.first = text, 0, dst, len(dst)
	p.members, p.keys, p.depth = p.members[:0], p.keys[:0], 0
	ok := p.value()
	if ok {
		p.skipSpace()
		ok = p.at == len(p.text)
	}
	dst = p.out
	p.text, p.out = nil, nil
	return dst, ok
}

func (p *jsonPrinter) skipSpace() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next skips white space, and returns the next character, or 0 at the end.
func (p *jsonPrinter) next() byte {
	p.skipSpace()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *jsonPrinter) value() bool {
	switch c := p.next(); c {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return p.string(false)
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case 'n':
		return p.word("null")
	default:
		return p.number()
	}
}

func (p *jsonPrinter) word(word string) bool {
	if !bytes.HasPrefix(p.text[p.at:], []byte(word)) {
		return false
	}
	p.at += len(word)
	p.out = append(p.out, word...)
	return true
}

// begin takes the character that opens an array or an object.
func (p *jsonPrinter) begin() bool {
	p.out = append(p.out, p.text[p.at])
	p.at++
	p.depth++
	return p.depth <= maxDepth
}

// end takes the character that closes it.
func (p *jsonPrinter) end() bool {
	p.out = append(p.out, p.text[p.at])
	p.at++
	p.depth--
	return true
}

func (p *jsonPrinter) array() bool {
	if !p.begin() {
		return false
	}
	if p.next() == ']' {
		return p.end()
	}
	for {
		if !p.value() {
			return false
		}
		switch p.next() {
		case ',':
			p.at++
			p.out = append(p.out, ", "...)
		case ']':
			return p.end()
		default:
			return false
		}
	}
}

func (p *jsonPrinter) object() bool {
	if !p.begin() {
		return false
	}
	if p.next() == '}' {
		return p.end()
	}
	first, keys := len(p.members), len(p.keys)
	for {
		if p.next() != '"' {
			return false
		}
		m := member{key: span{start: size(p.keys)}, start: size(p.out)}
		if !p.string(true) || p.next() != ':' {
			return false
		}
		m.key.end = size(p.keys)
		p.at++
		p.out = append(p.out, ": "...)
		if !p.value() {
			return false
		}
		m.end = size(p.out)
		p.members = append(p.members, m)
		switch p.next() {
		case ',':
			p.at++
			p.out = append(p.out, ", "...)
		case '}':
			p.order(first)
			p.members, p.keys = p.members[:first], p.keys[:keys]
			return p.end()
		default:
			return false
		}
	}
}

func size(text []byte) uint32 { return uint32(len(text)) } // at most longest(MaxJSON)

// compare orders keys by their length, and then by their bytes.
func (o *jsonObjects) compare(a, b span) int {
	if order := cmp.Compare(a.end-a.start, b.end-b.start); order != 0 {
		return order
	}
	return bytes.Compare(o.keys[a.start:a.end], o.keys[b.start:b.end])
}

// order puts the members of the object that ends in order, and keeps the last of those with the same key.
func (o *jsonObjects) order(first int) {
	all := o.members[first:]
	ordered := true
	for i := 1; i < len(all) && ordered; i++ {
		ordered = o.compare(all[i-1].key, all[i].key) < 0
	}
	if ordered {
		return
	}
	start := all[0].start
	o.sort(all)
	o.spare = o.spare[:0]
	for i, m := range all {
		if i+1 < len(all) && o.compare(m.key, all[i+1].key) == 0 {
			continue // the sort is stable
		}
		if len(o.spare) > 0 {
			o.spare = append(o.spare, ", "...)
		}
		o.spare = append(o.spare, o.out[m.start:m.end]...)
	}
	o.out = append(o.out[:start], o.spare...)
}

// sort sorts members, and keeps the order of equal ones.
func (o *jsonObjects) sort(all []member) {
	const few = 12
	if len(all) > few {
		middle := len(all) / 2
		o.sort(all[:middle])
		o.sort(all[middle:])
		o.merge(all, middle)
		return
	}
	for i := 1; i < len(all); i++ {
		for j := i; j > 0 && o.compare(all[j-1].key, all[j].key) > 0; j-- {
			all[j-1], all[j] = all[j], all[j-1]
		}
	}
}

// merge merges two sorted halves, with room behind the members that are in use.
func (o *jsonObjects) merge(all []member, middle int) {
	used := len(o.members)
	o.members = append(o.members, all[:middle]...)
	left := o.members[used:]
	i, j := 0, middle
	for k := 0; i < len(left); k++ {
		if j < len(all) && o.compare(left[i].key, all[j].key) > 0 {
			all[k], j = all[j], j+1
		} else {
			all[k], i = left[i], i+1
		}
	}
	o.members = o.members[:used]
}

// quote takes a quote.
func (p *jsonPrinter) quote() {
	p.out = append(p.out, '"')
	p.at++
}

// string takes a string. The text of a key is also added to the keys.
func (p *jsonPrinter) string(key bool) bool {
	p.quote()
	for {
		start := p.at
		for p.at < len(p.text) && isPlain[p.text[p.at]] {
			p.at++
		}
		plain := p.text[start:p.at]
		p.out = append(p.out, plain...)
		if key {
			p.keys = append(p.keys, plain...)
		}
		switch {
		case p.at == len(p.text):
			return false
		case p.text[p.at] == '"':
			p.quote()
			return true
		case p.text[p.at] != '\\':
			return false // a control character
		}
		r, ok := p.escape()
		if !ok {
			return false
		}
		p.out = appendEscaped(p.out, r)
		if key {
			p.keys = utf8.AppendRune(p.keys, r)
		}
	}
}

// isPlain has the bytes that a string has as they are.
var isPlain = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return plain
}()

// escape takes an escape, and returns the character that it stands for.
func (p *jsonPrinter) escape() (r rune, ok bool) {
	if p.at+1 >= len(p.text) {
		return 0, false
	}
	c := p.text[p.at+1]
	p.at += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), true
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
	case 'u':
	default:
		return 0, false
	}
	if r, ok = p.hex(); !ok || !utf16.IsSurrogate(r) {
		return r, ok && r != 0
	}
	if !bytes.HasPrefix(p.text[p.at:], []byte(`\u`)) {
		return 0, false
	}
	p.at += 2
	second, ok := p.hex()
	r = utf16.DecodeRune(r, second)
	return r, ok && r != utf8.RuneError
}

// hex takes four hexadecimal digits.
func (p *jsonPrinter) hex() (r rune, ok bool) {
	const digits = 4
	if p.at+digits > len(p.text) {
		return 0, false
	}
	for _, c := range p.text[p.at : p.at+digits] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	p.at += digits
	return r, true
}

// appendEscaped appends a character of a string.
func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r < ' ' {
		const digits = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
	}
	return utf8.AppendRune(dst, r)
}
