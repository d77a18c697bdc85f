package canonical

import (
	"bytes"
	"strconv"
)

const (
	// noScale is the scale of a decimal without bounds.
	noScale = -1

	// maxWhole and maxFraction are the most digits that numeric has before and after the point.
	maxWhole    = 131072
	maxFraction = 16383
	maxDigits   = maxWhole + maxFraction

	// maxInt is more digits than any whole number has.
	maxInt = 20
)

// appendInt appends a whole number. A fraction of zeros does not count.
func appendInt(dst, text []byte) ([]byte, bool) {
	if len(text) <= maxInt && isInt(text) {
		return append(dst, text...), true
	}
	n, ok := parseNumber(text)
	if !ok || n.exponent != 0 || len(n.whole) > maxInt || len(n.fraction) > 0 {
		return dst, false
	}
	return n.append(dst, 0), true
}

// isInt reports whether a text is a whole number in canonical form.
func isInt(text []byte) bool {
	digits := withoutSign(text)
	if len(digits) == 0 || digits[0] == '0' && len(text) > 1 {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// appendDecimal appends a number with so many digits after its point. If it has others than zeros after these, it is
// none.
func appendDecimal(dst, text []byte, scale int) ([]byte, bool) {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity":
		return append(dst, text...), true
	case infinityOfSQLite:
		return append(dst, "Infinity"...), true
	case "-" + infinityOfSQLite:
		return append(dst, "-Infinity"...), true
	}
	n, ok := parseNumber(text)
	if !ok {
		return dst, false
	}
	if n.exponent != 0 {
		begin := len(dst)
		if dst, ok = n.shift(dst); !ok {
			return dst, false
		}
		// What was appended is read as digits, and its canonical form takes its place.
		n, _ = parseNumber(dst[begin:])
		moved := len(dst)
		if scale != noScale && len(n.fraction) > scale {
			return dst, false
		}
		dst = n.append(dst, scale)
		return append(dst[:begin], dst[moved:]...), true
	}
	if scale != noScale && len(n.fraction) > scale {
		return dst, false
	}
	return n.append(dst, scale), true
}

// number is a number in decimal digits.
type number struct {
	negative        bool
	whole, fraction []byte // without zeros before and after them
	exponent        int
}

// parseNumber reads a number such as -01.50e+3.
func parseNumber(text []byte) (n number, ok bool) {
	rest := text
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		n.negative, rest = rest[0] == '-', rest[1:]
	}
	i := digits(rest)
	n.whole, rest = rest[:i], rest[i:]
	if len(rest) > 0 && rest[0] == '.' {
		j := digits(rest[1:])
		n.fraction, rest = rest[1:1+j], rest[1+j:]
		i += j
	}
	if i == 0 || i > maxDigits {
		return n, false
	}
	if len(rest) > 0 && (rest[0] == 'e' || rest[0] == 'E') {
		exponent, err := strconv.Atoi(string(rest[1:]))
		if err != nil || exponent > maxWhole || exponent < -maxDigits {
			return n, false
		}
		n.exponent, rest = exponent, nil
	}
	n.whole = bytes.TrimLeft(n.whole, "0")
	n.fraction = bytes.TrimRight(n.fraction, "0")
	return n, len(rest) == 0
}

// digits returns how many digits a text begins with.
func digits(text []byte) int {
	for i, c := range text {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(text)
}

// shift appends the number without its exponent.
func (n *number) shift(dst []byte) ([]byte, bool) {
	if n.negative {
		dst = append(dst, '-')
	}
	point := len(n.whole) + n.exponent // in all digits
	end := len(n.whole) + len(n.fraction)
	if point > maxWhole || end-point > maxFraction {
		return dst, false
	}
	digit := func(i int) byte {
		switch {
		case i < 0 || i >= end:
			return '0'
		case i < len(n.whole):
			return n.whole[i]
		}
		return n.fraction[i-len(n.whole)]
	}
	dst = append(dst, '0')
	for i := range max(0, point) {
		dst = append(dst, digit(i))
	}
	dst = append(dst, '.')
	for i := point; i < end; i++ {
		dst = append(dst, digit(i))
	}
	return dst, true
}

// append appends a number without an exponent.
func (n *number) append(dst []byte, scale int) []byte {
	if n.negative && len(n.whole)+len(n.fraction) > 0 {
		dst = append(dst, '-')
	}
	if len(n.whole) == 0 {
		dst = append(dst, '0')
	}
	dst = append(dst, n.whole...)
	if len(n.fraction) > 0 || scale > 0 {
		dst = append(append(dst, '.'), n.fraction...)
	}
	for i := len(n.fraction); i < scale; i++ {
		dst = append(dst, '0')
	}
	return dst
}
