package parquet

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"culvert/internal/canonical"
	"culvert/source"
)

// reason says why a value does not fit its column; "" if it does.
type reason string

// appendValue appends a value as PLAIN stores it, except that a boolean is a byte. The value is parsed as databases
// usually print it; a text that is not, such as 2026/1/2, is first brought to its canonical form.
func (c *column) appendValue(dst []byte, kind source.Kind, value []byte, values *canonical.Values) ([]byte, reason) {
	if c.physical == byteArray {
		return c.appendBytes(dst, kind, value)
	}
	if kind == source.Bytes {
		return dst, "it is binary data"
	}
	if out, ok := c.appendParsed(dst, value); ok {
		return out, ""
	}
	if text := values.Text(c.logical, value); string(text) != string(value) {
		if out, ok := c.appendParsed(dst, text); ok {
			return out, ""
		}
	}
	return dst, c.reason(value)
}

// appendBytes appends a value of any length.
func (c *column) appendBytes(dst []byte, kind source.Kind, value []byte) ([]byte, reason) {
	if why := c.checkBytes(kind, value); why != "" {
		return dst, why
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(value)))
	return append(dst, value...), ""
}

// checkBytes says why a value of any length does not fit.
func (c *column) checkBytes(kind source.Kind, value []byte) reason {
	isBinary := c.logical.Class == source.BytesClass
	switch {
	case len(value) > maxValue:
		return "it is too large: a file holds values of less than 2 GiB"
	case isBinary && kind != source.Bytes:
		return "it is not binary data"
	case isBinary:
	case kind == source.Bytes:
		return "it is binary data"
	case !utf8.Valid(value):
		return "it is not valid UTF-8"
	case c.logical.Class == source.JSONClass && kind != source.JSON && !json.Valid(value):
		return "it is not JSON"
	}
	return ""
}

// maxValue leaves room for the rest of a page, whose size has 31 bits.
const maxValue = math.MaxInt32 - 1<<20

func (c *column) appendParsed(dst, text []byte) ([]byte, bool) {
	switch c.logical.Class {
	case source.BoolClass:
		return appendBool(dst, text)
	case source.IntClass:
		v, ok := parseInt(text)
		limit := int64(1) << (c.logical.Bits - 1) // negative if it has 64 bits, all of which fit
		if !ok || limit > 0 && (v < -limit || v >= limit) {
			return dst, false
		}
		return c.appendInt(dst, v), true
	case source.FloatClass:
		return c.appendFloat(dst, text)
	case source.DecimalClass:
		return c.appendDecimal(dst, text)
	case source.DateClass:
		days, rest, ok := parseDay(text)
		return c.appendInt(dst, days), ok && len(rest) == 0
	case source.TimeClass:
		v, rest, ok := parseClock(text)
		return c.appendInt(dst, v), ok && len(rest) == 0
	case source.TimestampClass:
		v, rest, ok := parseMoment(text)
		return c.appendInt(dst, v), ok && len(rest) == 0
	case source.InstantClass:
		v, rest, ok := parseMoment(text)
		east, is := parseZone(rest)
		if v -= east; v < firstMoment || v > lastMoment {
			is = false
		}
		return c.appendInt(dst, v), ok && is
	case source.UUIDClass:
		return appendUUID(dst, text)
	default:
		panic("parquet: no value of " + c.logical.String())
	}
}

// reason says why a text that does not read as the type of the column does not fit.
func (c *column) reason(text []byte) reason {
	switch word := string(text[:min(len(text), len("-Infinity"))]); word {
	case "infinity", "-infinity", "Infinity", "-Infinity", "NaN":
		return reason("it is " + word + ", which " + c.logical.String() + " does not have")
	}
	switch c.logical.Class {
	case source.DateClass, source.TimestampClass, source.InstantClass:
		return reason("it is no " + c.logical.String() + " in the years 1 to 9999")
	case source.TimeClass:
		return "it is no time of day from 00:00:00 to 23:59:59.999999"
	default:
		return reason("it is no " + c.logical.String())
	}
}

// appendInt appends an integer in as many bytes as the column has.
func (c *column) appendInt(dst []byte, v int64) []byte {
	if c.physical == int32s {
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(v))
}

func appendBool(dst, text []byte) ([]byte, bool) {
	if len(text) != 1 {
		return dst, false
	}
	switch text[0] {
	case 't', '1':
		return append(dst, 1), true
	case 'f', '0':
		return append(dst, 0), true
	}
	return dst, false
}

func parseInt(text []byte) (v int64, ok bool) {
	digits := text
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		digits = text[1:]
	}
	const whole = 18 // digits that cannot exceed 64 bits
	if len(digits) > whole {
		v, err := strconv.ParseInt(string(text), 10, 64)
		return v, err == nil && text[0] != '+'
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = 10*v + int64(c-'0')
	}
	if negative {
		v = -v
	}
	return v, len(digits) > 0
}

// appendFloat appends a number with a binary exponent. ParseFloat reads more than databases print.
func (c *column) appendFloat(dst, text []byte) ([]byte, bool) {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity":
	default:
		for _, c := range text {
			if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
				return dst, false
			}
		}
	}
	v, err := strconv.ParseFloat(string(text), 8*c.size)
	if err != nil {
		return dst, false
	}
	return c.appendNumber(dst, v), true
}

// appendDecimal appends a number without an exponent. It fails if the number has more digits than the column.
func (c *column) appendDecimal(dst, text []byte) ([]byte, bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	var high, low uint64
	significant, fraction, any := 0, -1, false // fraction counts the digits after the point
	add := func(digit uint64) {
		carry, sum := bits.Mul64(low, 10)
		low, sum = bits.Add64(sum, digit, 0)
		high = 10*high + carry + sum
		if high|low != 0 {
			significant++
		}
	}
	for _, d := range text {
		switch {
		case d == '.' && fraction < 0:
			fraction = 0
			continue
		case d < '0' || d > '9':
			return dst, false
		case fraction < 0:
			add(uint64(d - '0'))
		case fraction < c.logical.Scale:
			add(uint64(d - '0'))
			fraction++
		case d != '0':
			return dst, false // it would be rounded
		}
		if any = true; significant > c.logical.Precision {
			return dst, false
		}
	}
	for range c.logical.Scale - max(fraction, 0) {
		add(0)
	}
	if !any || significant > c.logical.Precision {
		return dst, false
	}
	if negative {
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	if c.physical != fixed {
		return c.appendInt(dst, int64(low)), true
	}
	var big [16]byte
	binary.BigEndian.PutUint64(big[:8], high)
	binary.BigEndian.PutUint64(big[8:], low)
	return append(dst, big[len(big)-c.size:]...), true
}

// appendUUID appends 32 hexadecimal digits with hyphens at the usual places.
func appendUUID(dst, text []byte) ([]byte, bool) {
	const size = 36
	if len(text) != size || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return dst, false
	}
	begin := len(dst)
	for _, digits := range [][]byte{text[:8], text[9:13], text[14:18], text[19:23], text[24:]} {
		var err error
		if dst, err = hex.AppendDecode(dst, digits); err != nil {
			return dst[:begin], false
		}
	}
	return dst, true
}
