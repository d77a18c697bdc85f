package grammar

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"culvert/source"
)

const (
	notWhole  = "the column takes whole numbers, without white space, a fraction or an exponent"
	notNumber = "the column takes numbers, without white space"
	padded    = "the column would drop the zeros or the sign before the digits"
	rounded   = "the column would round the number"
	unsigned  = "the column would drop the sign of the zero"
)

// decimal is a number as text: a sign, digits, a point and an exponent.
type decimal struct {
	negative bool
	whole    []byte // digits before the point
	fraction []byte // and after it
	exponent int
}

// parseDecimal returns false for anything but a decimal number.
func parseDecimal(text []byte) (d decimal, ok bool) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		d.negative, text = text[0] == '-', text[1:]
	}
	n := digits(text)
	d.whole, text = text[:n], text[n:]
	if len(text) > 0 && text[0] == '.' {
		n = digits(text[1:])
		d.fraction, text = text[1:n+1], text[n+1:]
	}
	if len(d.whole)+len(d.fraction) == 0 {
		return d, false
	}
	if len(text) > 0 && (text[0] == 'e' || text[0] == 'E') {
		signed := text[1:]
		exponent := bytes.TrimPrefix(bytes.TrimPrefix(signed, []byte{'+'}), []byte{'-'})
		if len(signed)-len(exponent) > 1 || len(exponent) == 0 || digits(exponent) < len(exponent) {
			return d, false
		}
		number, err := strconv.Atoi(string(signed))
		if err != nil {
			return d, false
		}
		d.exponent, text = number, nil
	}
	return d, len(text) == 0
}

func digits(text []byte) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// significant returns the digits without zeros around them, and where the point would be before the first of them.
func (d *decimal) significant(buf []byte) (significant []byte, point int) {
	all := append(append(buf, d.whole...), d.fraction...)
	point = len(d.whole) + d.exponent
	trimmed := bytes.TrimLeft(all, "0")
	point -= len(all) - len(trimmed)
	return bytes.TrimRight(trimmed, "0"), point
}

// SameNumber reports whether two texts are the same decimal number. The sign of zero does not count.
func SameNumber(a, b []byte) bool {
	x, isNumber := parseDecimal(a)
	y, isAlso := parseDecimal(b)
	if !isNumber || !isAlso {
		return false
	}
	var first, second [64]byte
	m, i := x.significant(first[:0])
	n, j := y.significant(second[:0])
	return bytes.Equal(m, n) && (len(m) == 0 || i == j && x.negative == y.negative)
}

// places returns the digits after the point that are not zeros at the end. It is negative if there are zeros at the end
// of a whole number, and as small as can be for 0.
func (d *decimal) places() int {
	var buf [64]byte
	all, point := d.significant(buf[:0])
	if len(all) == 0 {
		return math.MinInt
	}
	return len(all) - point
}

// IsPadded reports whether a number has a plus sign, or zeros before its other digits.
func IsPadded(text []byte) bool {
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	return len(text) > 1 && (text[0] == '+' || text[0] == '0' && '0' <= text[1] && text[1] <= '9')
}

// isBool reports whether a value is a boolean, which all numeric columns take as 0 or 1.
func isBool(kind source.Kind) bool { return kind == source.Bool }

// whole is the grammar of integers. Whether one fits is for the database, which refuses others.
func whole(kind source.Kind, value []byte) string {
	text := value
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	switch {
	case isBool(kind):
	case len(text) == 0 || digits(text) < len(text):
		return notWhole
	case IsPadded(value):
		return padded
	}
	return ""
}

// natural is the grammar of integers for which PostgreSQL takes others below zero.
func natural(kind source.Kind, value []byte) string {
	if len(value) > 0 && value[0] == '-' {
		return "the column takes whole numbers without a sign"
	}
	return whole(kind, value)
}

// anyPlaces stands for any number of digits after the point.
const anyPlaces = math.MaxInt

// exact is the grammar of decimal numbers with a number of places; if it is negative, with as many zeros before the
// point.
func exact(places int) Grammar {
	return func(kind source.Kind, value []byte) string {
		d, ok := parseDecimal(value)
		switch {
		case isBool(kind):
		case !ok:
			return notNumber
		case IsPadded(value):
			return padded
		case places >= 0 && d.exponent == 0 && len(d.fraction) <= places:
		case d.places() > places && places < 0:
			return rounded
		case d.places() > places:
			return fmt.Sprintf("the column keeps %d digits after the point", places)
		}
		return ""
	}
}

// binary is the grammar of floating-point numbers of 32 or 64 bits. The number must be the one that they print.
func binary(bits int) Grammar {
	return func(kind source.Kind, value []byte) string {
		switch {
		case isBool(kind):
			return ""
		case IsPadded(value):
			return padded
		}
		d, ok := parseDecimal(value)
		switch {
		case !ok:
			return notNumber
		case !d.keptByFloat(value, bits):
			return rounded
		}
		return ""
	}
}

// KeptByFloat reports whether a floating-point number of 32 or 64 bits prints the same number again.
func KeptByFloat(value []byte, bits int) bool {
	d, ok := parseDecimal(value)
	return ok && d.keptByFloat(value, bits)
}

// keptByFloat is KeptByFloat for a number that was parsed from value.
func (d *decimal) keptByFloat(value []byte, bits int) bool {
	kept := 15 // digits that always come back
	if bits == 32 {
		kept = 6
	}
	if d.exponent == 0 && len(d.whole)+len(d.fraction) <= kept {
		return true
	}
	number, err := strconv.ParseFloat(string(value), bits)
	if err != nil {
		return false
	}
	var text [32]byte
	if d.exponent == 0 && bytes.Equal(strconv.AppendFloat(text[:0], number, 'f', -1, bits), value) {
		return true // as most databases print it, which takes no comparison of digits
	}
	return SameNumber(strconv.AppendFloat(text[:0], number, 'e', -1, bits), value)
}

// zero is the number without its sign, with which SameNumber compares it.
var zero = []byte("0")

// IsSignedZero reports whether a number is a zero with a minus sign, which some floating-point numbers are.
func IsSignedZero(value []byte) bool {
	return len(value) > 1 && value[0] == '-' && (value[1] == '0' || value[1] == '.') && SameNumber(value, zero)
}

// withoutSign is a grammar for columns that have no zero with a sign.
func (g Grammar) withoutSign() Grammar {
	return func(kind source.Kind, value []byte) string {
		if reason := g(kind, value); reason != "" || kind == source.Bytes || !IsSignedZero(value) {
			return reason
		}
		return unsigned
	}
}
