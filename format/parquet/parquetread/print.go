package parquetread

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"

	"culvert/source"
)

// reason says why a value has no text; "" if it has.
type reason string

const (
	outOfRange reason = "it is out of the range of its type"
	outOfYears reason = "it is not in the years 1 to 9999"
)

// kind returns the kind of the values.
func (p *printer) kind() source.Kind {
	switch p.form {
	case boolForm:
		return source.Bool
	case intForm, unsignedForm, float16Form, float32Form, float64Form, decimalForm:
		return source.Number
	case bytesForm:
		return source.Bytes
	case jsonForm:
		return source.JSON
	default:
		return source.Text
	}
}

// isInt reports whether values are read as integers, and not as bytes. The bits of numbers with a binary exponent are.
func (p physical) isInt() bool { return p != int96s && p != byteArrays && p != fixed }

// appendInt appends the text of a value that was read as an integer.
func (p *printer) appendInt(dst []byte, v int64) ([]byte, reason) {
	switch p.form {
	case boolForm:
		if v != 0 {
			return append(dst, 't'), ""
		}
		return append(dst, 'f'), ""
	case intForm:
		if p.low == 0 && p.high > 0 {
			v = int64(uint32(v)) // without a sign
		}
		if p.high > 0 && (v < p.low || v > p.high) {
			return dst, outOfRange
		}
		return strconv.AppendInt(dst, v, 10), ""
	case unsignedForm:
		return strconv.AppendUint(dst, uint64(v), 10), ""
	case float32Form:
		return appendFloat(dst, float64(math.Float32frombits(uint32(v))), 32), ""
	case float64Form:
		return appendFloat(dst, math.Float64frombits(uint64(v)), 64), ""
	case decimalForm:
		return p.appendDecimal(dst, v)
	case dateForm:
		if v < firstDay || v > lastDay {
			return dst, outOfYears
		}
		return appendDay(dst, v), ""
	case timeForm:
		day := 24 * 60 * 60 * perSecond[p.unit]
		if v < 0 || v >= day {
			return dst, outOfRange
		}
		return appendClock(dst, v, p.unit), ""
	case momentForm:
		return p.appendMoment(dst, v)
	default:
		panic("parquetread: no integer")
	}
}

// appendBytes appends the text of a value that was read as bytes.
func (p *printer) appendBytes(dst, v []byte) ([]byte, reason) {
	switch p.form {
	case textForm, jsonForm:
		if !utf8.Valid(v) {
			return dst, "it is not valid UTF-8"
		}
		return append(dst, v...), ""
	case bytesForm:
		return append(dst, v...), ""
	case decimalForm:
		return p.appendLargeDecimal(dst, v)
	case uuidForm:
		return appendUUID(dst, v), ""
	case int96Form:
		return appendInt96(dst, v)
	case float16Form:
		return appendFloat(dst, float16(binary.LittleEndian.Uint16(v)), 32), ""
	case intervalForm:
		return appendInterval(dst, v), ""
	default:
		panic("parquetread: no bytes")
	}
}

// appendFloat appends a number as PostgreSQL prints it: the shortest one that reads back as the same.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	most := 1e15
	if bits == 32 {
		most = 1e6
	}
	verb := byte('f')
	if abs := math.Abs(v); abs != 0 && abs < 1e-4 || abs >= most {
		verb = 'e'
	}
	return strconv.AppendFloat(dst, v, verb, -1, bits)
}

// float16 returns a number of IEEE 754 with 11 bits of precision.
func float16(v uint16) float64 {
	sign, exponent, fraction := 1.0, int(v>>10&0x1f), float64(v&0x3ff)
	if v>>15 != 0 {
		sign = -1
	}
	switch exponent {
	case 0:
		return math.Copysign(math.Ldexp(fraction, -24), sign)
	case 0x1f:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(fraction+1024, exponent-25)
}

// appendDecimal appends an integer with a point before its last digits.
func (p *printer) appendDecimal(dst []byte, v int64) ([]byte, reason) {
	var digits [20]byte
	unsigned := uint64(v)
	if v < 0 {
		dst, unsigned = append(dst, '-'), -unsigned
	}
	return p.appendDigits(dst, strconv.AppendUint(digits[:0], unsigned, 10))
}

// appendLargeDecimal is appendDecimal for a two's complement, the highest byte first.
func (p *printer) appendLargeDecimal(dst, v []byte) ([]byte, reason) {
	const word = 8
	if len(v) <= word {
		n := int64(0)
		if len(v) > 0 {
			n = int64(int8(v[0]))
			for _, b := range v[1:] {
				n = n<<8 | int64(b)
			}
		}
		return p.appendDecimal(dst, n)
	}
	if len(v) > largestDecimal {
		return dst, outOfRange
	}
	n := new(big.Int).SetBytes(v)
	if v[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
		n.Neg(n)
	}
	return p.appendDigits(dst, n.Append(nil, 10))
}

func (p *printer) appendDigits(dst, digits []byte) ([]byte, reason) {
	scale := p.logical.Scale
	if len(digits) > p.logical.Precision && string(digits) != "0" {
		return dst, outOfRange
	}
	if scale == 0 {
		return append(dst, digits...), ""
	}
	if len(digits) <= scale {
		dst = append(dst, '0', '.')
		for range scale - len(digits) {
			dst = append(dst, '0')
		}
		return append(dst, digits...), ""
	}
	whole := len(digits) - scale
	dst = append(append(dst, digits[:whole]...), '.')
	return append(dst, digits[whole:]...), ""
}

func appendUUID(dst, v []byte) []byte {
	for i, part := range [][]byte{v[:4], v[4:6], v[6:8], v[8:10], v[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}

// The days of the years 1 to 9999, since 1970.
const (
	firstDay = -719162
	lastDay  = 2932896
)

// appendDay appends a day by its number since 1970, as Howard Hinnant's civil_from_days finds it (chrono-Compatible
// Low-Level Date Algorithms): in years that begin in March, so that the leap day is the last.
func appendDay(dst []byte, days int64) []byte {
	const ofEra = 146097 // 400 years
	days += 719468       // since 0000-03-01
	era, day := days/ofEra, days%ofEra
	year := (day - day/1460 + day/36524 - day/146096) / 365
	day -= 365*year + year/4 - year/100
	month := (5*day + 2) / 153
	day -= (153*month + 2) / 5
	if year += 400 * era; month < 10 {
		month += 3
	} else {
		month -= 9
		year++
	}
	dst = appendPair(dst, year/100)
	dst = append(appendPair(dst, year%100), '-')
	dst = append(appendPair(dst, month), '-')
	return appendPair(dst, day+1)
}

// appendPair appends two digits.
func appendPair(dst []byte, v int64) []byte { return append(dst, byte('0'+v/10), byte('0'+v%10)) }

// appendClock appends a time of day, without zeros at the end of its fraction.
func appendClock(dst []byte, v int64, unit int) []byte {
	second := perSecond[unit]
	seconds, fraction := v/second, v%second
	dst = append(appendPair(dst, seconds/3600), ':')
	dst = append(appendPair(dst, seconds/60%60), ':')
	dst = appendPair(dst, seconds%60)
	if fraction == 0 {
		return dst
	}
	dst = append(dst, '.')
	for second /= 10; fraction > 0; second /= 10 {
		dst = append(dst, byte('0'+fraction/second))
		fraction %= second
	}
	return dst
}

// appendMoment appends a day and a time of day.
func (p *printer) appendMoment(dst []byte, v int64) ([]byte, reason) {
	ofDay := 24 * 60 * 60 * perSecond[p.unit]
	days, clock := v/ofDay, v%ofDay
	if clock < 0 {
		days, clock = days-1, clock+ofDay
	}
	if days < firstDay || days > lastDay {
		return dst, outOfYears
	}
	dst = append(appendDay(dst, days), ' ')
	dst = appendClock(dst, clock, p.unit)
	if p.logical.Class == source.InstantClass {
		dst = append(dst, "+00"...)
	}
	return dst, ""
}

// appendInt96 appends a moment of old files: nanoseconds of a day, and its number in Julian days.
func appendInt96(dst, v []byte) ([]byte, reason) {
	const unixDay = 2440588
	clock := int64(binary.LittleEndian.Uint64(v))
	days := int64(int32(binary.LittleEndian.Uint32(v[8:]))) - unixDay
	ofDay := 24 * 60 * 60 * perSecond[nanos]
	if clock < 0 || clock >= ofDay || days < firstDay || days > lastDay {
		return dst, outOfYears
	}
	return appendClock(append(appendDay(dst, days), ' '), clock, nanos), ""
}

// appendInterval appends a span of months, days and milliseconds, in words that PostgreSQL reads.
func appendInterval(dst, v []byte) []byte {
	for i, unit := range []string{" mons ", " days "} {
		dst = strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint32(v[4*i:])), 10)
		dst = append(dst, unit...)
	}
	n := int64(binary.LittleEndian.Uint32(v[8:]))
	hours := n / (3600 * perSecond[millis])
	dst = strconv.AppendInt(dst, hours, 10)
	var clock [16]byte
	return append(dst, appendClock(clock[:0], n%(3600*perSecond[millis]), millis)[2:]...)
}
