package canonical

import (
	"bytes"
	"math"
	"strconv"
)

// floats says how PostgreSQL prints binary floating-point numbers of a size.
type floats struct {
	bits   int
	safe   int     // decimal digits that no two numbers share
	large  int     // the decimal exponent from which a number has one
	spaced float64 // from here on, numbers are at least 2 apart
}

var (
	singles = floats{bits: 32, safe: 6, large: 6, spaced: 1 << 24}
	doubles = floats{bits: 64, safe: 15, large: 15, spaced: 1 << 53}
)

// infinityOfSQLite is how SQLite prints infinity, for which it has no name.
const infinityOfSQLite = "9.0e+999"

func floatsOf(bits int) *floats {
	if bits == singles.bits {
		return &singles
	}
	return &doubles
}

// append appends a number as PostgreSQL prints it.
func (f *floats) append(dst, text []byte) ([]byte, bool) {
	switch {
	case f.isPlain(text), string(text) == "NaN", string(text) == "Infinity", string(text) == "-Infinity":
		return append(dst, text...), true
	}
	switch string(text) {
	case infinityOfSQLite:
		return append(dst, "Infinity"...), true
	case "-" + infinityOfSQLite:
		return append(dst, "-Infinity"...), true
	}
	if _, ok := parseNumber(text); !ok {
		return dst, false // the other texts of numbers are none to a database
	}
	number, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return dst, false
	}
	if f.bits == singles.bits {
		single := float32(number)
		if math.IsInf(float64(single), 0) {
			return dst, false
		}
		var memory [32]byte
		shortest := strconv.AppendFloat(memory[:0], float64(single), 'e', -1, f.bits)
		if known, _ := strconv.ParseFloat(string(shortest), 64); number != known && number != float64(single) {
			return dst, false
		}
		number = float64(single)
	}
	return f.print(dst, number), true
}

// isPlain reports whether a text is that of a number with so few digits that it is the shortest, as most are.
func (f *floats) isPlain(text []byte) bool {
	rest := withoutSign(text)
	whole := digits(rest)
	if whole == 0 || whole > f.large || whole > 1 && rest[0] == '0' {
		return false
	}
	if whole == len(rest) {
		return whole <= f.safe
	}
	fraction := rest[whole+1:]
	n := len(fraction)
	return rest[whole] == '.' && n > 0 && whole+n <= f.safe && digits(fraction) == n && fraction[n-1] != '0' &&
		(rest[0] != '0' || n <= 4)
}

// print appends a number. Its digits are the fewest of all decimal numbers between the halfways to its neighbours. Go
// also takes one that is halfway, and is rounded to this number because it is even.
func (f *floats) print(dst []byte, number float64) []byte {
	var memory [32]byte
	text := strconv.AppendFloat(memory[:0], number, 'e', -1, f.bits)
	if math.Abs(number) >= f.spaced {
		mantissa := bytes.TrimPrefix(text[:bytes.IndexByte(text, 'e')], []byte{'-'})
		for n := max(1, len(mantissa)-len(".")); f.isHalfway(text, number); n++ {
			text = strconv.AppendFloat(memory[:0], number, 'e', n, f.bits) // with another digit
		}
	}
	at := bytes.IndexByte(text, 'e')
	if exponent, _ := strconv.Atoi(string(text[at+1:])); exponent < -4 || exponent >= f.large {
		return append(dst, text...)
	}
	return strconv.AppendFloat(dst, number, 'f', -1, f.bits)
}

// isHalfway reports whether a text is rounded to a number, but not what is slightly more or less.
func (f *floats) isHalfway(text []byte, number float64) bool {
	at := bytes.IndexByte(text, 'e')
	var memory [64]byte
	more := append(append(append(memory[:0], text[:at]...), point(text[:at])+"00000000000000000001"...), text[at:]...)
	if found, _ := strconv.ParseFloat(string(more), f.bits); found != number {
		return true
	}
	less := append(append(append(memory[:0], text[:at]...), point(text[:at])+"99999999999999999999"...), text[at:]...)
	for i := at - 1; ; i-- {
		if less[i] == '0' {
			less[i] = '9'
		} else if less[i] != '.' && less[i] != '-' {
			less[i]--
			break
		}
	}
	found, _ := strconv.ParseFloat(string(less), f.bits)
	return found != number
}

// point is what a number needs before more digits.
func point(number []byte) string {
	if bytes.IndexByte(number, '.') < 0 {
		return "."
	}
	return ""
}
