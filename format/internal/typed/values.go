package typed

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"culvert/internal/canonical"
	"culvert/source"
)

// Reason says why a value does not fit its column; "" if it does.
type Reason string

// Append appends a value of a column with a Size. The value is parsed as databases usually print it; a text that is
// not, such as 2026/1/2, is first brought to its canonical form.
func (c *Column) Append(dst []byte, kind source.Kind, value []byte, values *canonical.Values) ([]byte, Reason) {
	if kind == source.Bytes {
		return dst, "it is binary data"
	}
	if out, ok := c.appendParsed(dst, value); ok {
		return out, ""
	}
	if text := values.Text(c.Logical, value); string(text) != string(value) {
		if out, ok := c.appendParsed(dst, text); ok {
			return out, ""
		}
	}
	return dst, c.reason(value)
}

// Check says why a value of a column without a Size does not fit. Its bytes are what is written.
func (c *Column) Check(kind source.Kind, value []byte) Reason {
	isBinary := c.Logical.Class == source.BytesClass
	switch {
	case len(value) > MaxValue:
		return "it is too large: a file holds values of less than 2 GiB"
	case isBinary && kind != source.Bytes:
		return "it is not binary data"
	case isBinary:
	case kind == source.Bytes:
		return "it is binary data"
	case !utf8.Valid(value):
		return "it is not valid UTF-8"
	case c.Logical.Class == source.JSONClass && kind != source.JSON && !json.Valid(value):
		return "it is not JSON"
	}
	return ""
}

// MaxValue is the size of the largest value. It leaves room for the rest of a page or a buffer, whose size has 31 bits.
const MaxValue = math.MaxInt32 - 1<<20

func (c *Column) appendParsed(dst, text []byte) ([]byte, bool) {
	switch c.Logical.Class {
	case source.BoolClass:
		return appendBool(dst, text)
	case source.IntClass, source.DateClass, source.TimeClass, source.TimestampClass, source.InstantClass:
		v, ok := c.Int(text)
		return c.AppendInt(dst, v), ok
	case source.FloatClass:
		return c.appendFloat(dst, text)
	case source.DecimalClass:
		return c.appendDecimal(dst, text)
	case source.UUIDClass:
		return canonical.AppendUUID(dst, text)
	default:
		panic("typed: no value of " + c.Logical.String())
	}
}

// HasInts reports whether values are stored as integers of up to 64 bits.
func (c *Column) HasInts() bool {
	switch c.Logical.Class {
	case source.IntClass, source.DateClass, source.TimeClass, source.TimestampClass, source.InstantClass:
		return true
	}
	return c.Logical.Class == source.DecimalClass && c.Size <= word
}

// Int returns the integer that is stored for a text of a column that has such. It fails for what is not printed as
// databases usually do, and takes less time than Append.
func (c *Column) Int(text []byte) (v int64, ok bool) {
	var rest []byte
	switch c.Logical.Class {
	case source.IntClass:
		v, ok = parseInt(text)
		limit := int64(1) << (c.Logical.Bits - 1) // negative if it has 64 bits, all of which fit
		return v, ok && (limit <= 0 || v >= -limit && v < limit)
	case source.DecimalClass:
		return c.shortDecimal(text)
	case source.DateClass:
		v, rest, ok = canonical.ParseDay(text)
	case source.TimeClass:
		v, rest, ok = canonical.ParseClock(text)
	case source.TimestampClass:
		v, rest, ok = canonical.ParseMoment(text)
	case source.InstantClass:
		v, rest, ok = canonical.ParseMoment(text)
		east, is := canonical.ParseZone(rest)
		v -= east
		return v, ok && is && v >= firstMoment && v <= lastMoment
	default:
		panic("typed: no integer of " + c.Logical.String())
	}
	return v, ok && len(rest) == 0
}

// reason says why a text that does not read as the type of the column does not fit.
func (c *Column) reason(text []byte) Reason {
	switch word := string(text[:min(len(text), len("-Infinity"))]); word {
	case "infinity", "-infinity", "Infinity", "-Infinity", "NaN":
		return Reason("it is " + word + ", which " + c.Logical.String() + " does not have")
	}
	switch c.Logical.Class {
	case source.DateClass, source.TimestampClass, source.InstantClass:
		return Reason("it is no " + c.Logical.String() + " in the years 1 to 9999")
	case source.TimeClass:
		return "it is no time of day from 00:00:00 to 23:59:59.999999"
	default:
		return Reason("it is no " + c.Logical.String())
	}
}

// AppendInt appends an integer in as many bytes as the column has.
func (c *Column) AppendInt(dst []byte, v int64) []byte {
	switch c.Size {
	case 2:
		return binary.LittleEndian.AppendUint16(dst, uint16(v))
	case 4:
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(v))
}

// AppendNumber appends a number with a binary exponent in as many bytes as the column has.
func (c *Column) AppendNumber(dst []byte, v float64) []byte {
	if c.Size == 4 {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
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
func (c *Column) appendFloat(dst, text []byte) ([]byte, bool) {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity":
	default:
		for _, c := range text {
			if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
				return dst, false
			}
		}
	}
	v, err := strconv.ParseFloat(string(text), 8*c.Size)
	if err != nil {
		return dst, false
	}
	return c.AppendNumber(dst, v), true
}

// appendDecimal appends a number without an exponent. It fails if the number has more digits than the column.
func (c *Column) appendDecimal(dst, text []byte) ([]byte, bool) {
	if v, ok := c.shortDecimal(text); ok {
		return c.appendWords(dst, words{uint64(v), uint64(v >> 63)}), true
	}
	n, ok := c.longDecimal(text)
	if !ok {
		return dst, false
	}
	return c.appendWords(dst, n), true
}

// longDecimal reads a number of as many digits as a column may have.
func (c *Column) longDecimal(text []byte) (n words, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	last, power := uint64(0), uint64(1)        // of the digits that are not in n yet, and of ten
	significant, fraction, any := 0, -1, false // fraction counts the digits after the point
	for _, d := range text {
		switch {
		case d == '.' && fraction < 0:
			fraction = 0
			continue
		case d < '0' || d > '9':
			return n, false
		case fraction >= c.Logical.Scale:
			if d != '0' {
				return n, false // it would be rounded
			}
			any = true
			continue
		case fraction >= 0:
			fraction++
		}
		any = true
		if significant > 0 || d != '0' {
			significant++
		}
		if significant > c.Logical.Precision {
			return n, false
		}
		if power == mostPower {
			n.add(last, power)
			last, power = 0, 1
		}
		last, power = 10*last+uint64(d-'0'), 10*power
	}
	for range c.Logical.Scale - max(fraction, 0) {
		if significant > 0 {
			significant++
		}
		if power == mostPower {
			n.add(last, power)
			last, power = 0, 1
		}
		last, power = 10*last, 10*power
	}
	if !any || significant > c.Logical.Precision {
		return n, false
	}
	if n.add(last, power); negative {
		n.negate()
	}
	return n, true
}

// shortDecimal is longDecimal for a number of so few digits as most have, in less time.
func (c *Column) shortDecimal(text []byte) (v int64, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) >= len(powers) {
		return 0, false
	}
	n, digits, point := uint64(0), len(text), -1
	for i, char := range text {
		switch d := char - '0'; {
		case d <= 9:
			n = 10*n + uint64(d)
		case char == '.' && point < 0:
			point = i
		default:
			return 0, false
		}
	}
	missing := c.Logical.Scale // digits of the fraction
	if point >= 0 {
		missing -= digits - 1 - point
		digits--
	}
	if digits == 0 || missing < 0 || digits+missing >= len(powers) {
		return 0, false
	}
	n *= powers[missing]
	if c.Logical.Precision < len(powers) && n >= powers[c.Logical.Precision] {
		return 0, false
	}
	if v = int64(n); negative {
		v = -v
	}
	return v, true
}

// powers has 10 to the power n at n. The last one is mostPower.
var powers = func() (all [19]uint64) {
	power := uint64(1)
	for i := range all {
		all[i], power = power, 10*power
	}
	return all
}()

// mostPower is that of as many digits as fit 64 bits with one more.
const mostPower = 1e18

const word = 8 // bytes

// words are a number, the lowest first, in two's complement.
type words [2]uint64

// add adds digits behind those of the number: it is multiplied by their power of ten.
func (n *words) add(digits, power uint64) {
	carry := digits
	for i, w := range n {
		high, low := bits.Mul64(w, power)
		var more uint64
		n[i], more = bits.Add64(low, carry, 0)
		carry = high + more
	}
}

func (n *words) negate() {
	borrow := uint64(0)
	for i, w := range n {
		n[i], borrow = bits.Sub64(0, w, borrow)
	}
}

// appendWords appends a number in as many bytes as the column has.
func (c *Column) appendWords(dst []byte, n words) []byte {
	switch {
	case c.Size <= word:
		return c.AppendInt(dst, int64(n[0]))
	case c.BigEndian:
		var big [2 * word]byte
		binary.BigEndian.PutUint64(big[:word], n[1])
		binary.BigEndian.PutUint64(big[word:], n[0])
		return append(dst, big[len(big)-c.Size:]...)
	}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, n[0]), n[1])
}
