package mask

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"culvert/source"
)

// shaper replaces each letter by a letter of the same script and case, and each digit by a digit. All else stays. So a
// text keeps its length, in characters and in bytes.
type shaper struct {
	permuter *permuter
	symbols  []symbol
	alphabet []*alphabet // of each symbol; nil for ASCII
}

// segment is how many bytes of a text are permuted at once. What follows depends on them too.
const segment = 8 << 10

func newShaper(k *Key) *shaper { return &shaper{permuter: newPermuter(k, "text")} }

// newShaped masks texts by the rule text.
func newShaped(k *Key, c source.Column) masking {
	s := newShaper(k)
	return each(func(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
		if kind != source.Text {
			return kind, dst, errNotText
		}
		if !utf8.Valid(value) {
			return kind, dst, errNotUTF8
		}
		return kind, s.append(dst, trimmed(c, value)), nil
	})
}

// append appends the masked text, which must be UTF-8: otherwise different texts could become equal.
func (s *shaper) append(dst, text []byte) []byte {
	if dst, is := s.permuter.digits(dst, text); is {
		return dst
	}
	s.permuter.tweak = [len(s.permuter.tweak)]byte{}
	for len(text) > segment {
		n := segment
		for n > segment-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		dst = s.appendSegment(dst, text[:n])
		s.permuter.chain(text[:n])
		text = text[n:]
	}
	return s.appendSegment(dst, text)
}

func (s *shaper) appendSegment(dst, text []byte) []byte {
	s.symbols, s.alphabet = s.symbols[:0], s.alphabet[:0]
	for i := 0; i < len(text); {
		n := s.add(text[i:])
		i += n
	}
	s.permuter.symbols(s.symbols)
	next := 0
	for len(text) > 0 {
		b := text[0]
		switch {
		case isDigit(b):
			dst = append(dst, '0'+byte(s.symbols[next].value))
		case 'a' <= b && b <= 'z':
			dst = append(dst, 'a'+byte(s.symbols[next].value))
		case 'A' <= b && b <= 'Z':
			dst = append(dst, 'A'+byte(s.symbols[next].value))
		case b < utf8.RuneSelf:
			dst, text = append(dst, b), text[1:]
			continue
		default:
			r, n := utf8.DecodeRune(text)
			text = text[n:]
			switch {
			case alphabetOf(r) == nil:
				dst = utf8.AppendRune(dst, r)
			default:
				dst = utf8.AppendRune(dst, s.alphabet[next].letters[s.symbols[next].value])
				next++
			}
			continue
		}
		text = text[1:]
		next++
	}
	return dst
}

// add adds the symbol of the first character of a text, if it is one, and returns its size.
func (s *shaper) add(text []byte) (size int) {
	b := text[0]
	one := symbol{radix: 26}
	switch {
	case isDigit(b):
		one = symbol{uint32(b - '0'), 10}
	case 'a' <= b && b <= 'z':
		one.value = uint32(b - 'a')
	case 'A' <= b && b <= 'Z':
		one.value = uint32(b - 'A')
	case b < utf8.RuneSelf:
		return 1
	default:
		r, n := utf8.DecodeRune(text)
		if a := alphabetOf(r); a != nil {
			s.symbols = append(s.symbols, symbol{a.index[r], uint32(len(a.letters))})
			s.alphabet = append(s.alphabet, a)
		}
		return n
	}
	s.symbols, s.alphabet = append(s.symbols, one), append(s.alphabet, nil)
	return 1
}

// alphabet are letters that may become each other: those of one kind in a range of Unicode in which all characters have
// the same number of bytes in UTF-8.
type alphabet struct {
	letters []rune
	index   map[rune]uint32
}

type alphabetKey struct {
	first rune
	kind  byte
}

var alphabets sync.Map // of *alphabet by alphabetKey; there are some hundreds at most

// alphabetOf returns the alphabet of a character that is not ASCII, or nil if it is no letter, digit or mark.
func alphabetOf(r rune) *alphabet {
	kind := kindOf(r)
	if kind == 0 {
		return nil
	}
	first, size := r&^127, rune(128)
	if r >= 0x800 {
		first, size = r&^1023, 1024
	}
	key := alphabetKey{first, kind}
	if found, is := alphabets.Load(key); is {
		return found.(*alphabet)
	}
	a := &alphabet{index: map[rune]uint32{}}
	for letter := max(first, utf8.RuneSelf); letter < first+size; letter++ {
		if kindOf(letter) == kind {
			a.index[letter] = uint32(len(a.letters))
			a.letters = append(a.letters, letter)
		}
	}
	found, _ := alphabets.LoadOrStore(key, a)
	return found.(*alphabet)
}

// kindOf tells letters by their case, and digits and marks, from what tells nothing.
func kindOf(r rune) byte {
	switch {
	case unicode.IsUpper(r):
		return 'A'
	case unicode.IsLower(r):
		return 'a'
	case unicode.IsLetter(r):
		return 'l'
	case unicode.IsNumber(r):
		return '0'
	case unicode.IsMark(r):
		return 'm'
	}
	return 0
}
