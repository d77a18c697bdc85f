package canonical

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"culvert/source"
)

// usual is the form that most numbers of a column have, in which they are canonical. A number of up to sixteen bytes is
// compared with it eight bytes at a time. All others, such as 0.5, are looked at digit by digit.
type usual struct {
	most     int  // bytes without a sign; 0 if there is no usual form
	fraction bool // it may have a fraction without a zero at its end
	scale    int  // so many digits are after its point, if that is not 0
}

// usualOf returns the usual form of numbers of a column that is looked at.
func usualOf(c source.Column, printed source.Dialect) usual {
	const most = 2 * word
	l := c.Logical
	switch {
	case l.List || hasZeros(c, printed) || printed.Family() == source.MySQL:
		return usual{} // a look at less of them is enough
	case l.Class == source.IntClass:
		return usual{most: most}
	case l.Class == source.FloatClass:
		return usual{most: floatsOf(l.Bits).safe, fraction: true}
	case l.Class == source.DecimalClass && l.Precision > 0:
		return usual{most: most, scale: max(0, l.Scale)}
	case l.Class == source.DecimalClass:
		return usual{most: most, fraction: true}
	}
	return usual{}
}

// fits reports whether a field of a line, which is not empty, has the form.
func (u *usual) fits(line []byte, at, end int) bool {
	start := at
	if line[at] == '-' {
		at++
	}
	n := end - at
	if n == 0 || n > u.most || line[at] == '0' && end-start > 1 {
		return false
	}
	// The bytes from the first, lowest first. Digits are 0 to 9.
	var first, next uint64
	switch unused := word * uint(word-n); {
	case n > word:
		first, next = digitsAt(line, at), digitsAt(line, end-word)>>(word*uint(2*word-n))
	case end >= word:
		first = digitsAt(line, end-word) >> unused
	case at+word <= len(line):
		first = digitsAt(line, at) << unused >> unused
	default:
		return false
	}
	others, more := othersThanDigits(first), othersThanDigits(next)
	if others|more == 0 {
		return u.scale == 0
	}
	point := bits.TrailingZeros64(others) / word
	if others == 0 {
		others, point = more, word+bits.TrailingZeros64(more)/word
	} else if more != 0 {
		return false
	}
	return others&(others-1) == 0 && line[at+point] == '.' && point > 0 && u.hasFraction(n-point-1, line[end-1])
}

// hasFraction reports whether the form has so many digits after its point, and such a last one.
func (u *usual) hasFraction(digits int, last byte) bool {
	if u.fraction {
		return digits > 0 && last != '0'
	}
	return u.scale > 0 && digits == u.scale
}

// digitsAt returns eight bytes of a line, of which each digit is its number.
func digitsAt(line []byte, at int) uint64 { return binary.LittleEndian.Uint64(line[at:]) ^ ones*'0' }

// othersThanDigits returns the highest bit of each byte that is not 0 to 9. It may return that of the byte after one
// that is not ASCII, too.
func othersThanDigits(w uint64) uint64 {
	const beyond9 = 1<<7 - 10
	return (w | (w + ones*beyond9)) & highs
}

// withoutSign returns a number without the - before it.
func withoutSign(text []byte) []byte {
	if len(text) > 0 && text[0] == '-' {
		return text[1:]
	}
	return text
}

// whole takes a number of SQLite such as 7.0, which is 7 elsewhere.
func (f *floats) whole(j *jsonInLine, line []byte, at, end int) bool {
	number, isWhole := bytes.CutSuffix(line[at:end], []byte(".0"))
	if !isWhole || !f.isPlain(number) || bytes.IndexByte(number, '.') >= 0 {
		return false
	}
	j.copy(line, at+len(number), end)
	return true
}

// padded takes a number that needs zeros, for so many digits after its point.
func padded(scale int) func(j *jsonInLine, line []byte, at, end int) bool {
	return func(j *jsonInLine, line []byte, at, end int) bool {
		number := withoutSign(line[at:end])
		whole := digits(number)
		if whole == 0 || len(number) > 2*word || number[0] == '0' && (whole > 1 || len(number) < end-at) {
			return false
		}
		missing, separator := scale, "."
		if whole < len(number) {
			fraction := number[whole+1:]
			if number[whole] != '.' || len(fraction) == 0 || digits(fraction) < len(fraction) {
				return false
			}
			missing, separator = scale-len(fraction), ""
		}
		if missing <= 0 {
			return false
		}
		j.copy(line, end, end)
		j.out = append(j.out, separator...)
		for range missing {
			j.out = append(j.out, '0')
		}
		return true
	}
}
