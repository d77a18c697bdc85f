// Package untyped turns the values of typed columns into the texts that PostgreSQL prints, in UTC: the opposite of
// package typed, for the readers of the formats that have such columns. A value never becomes another one: there is a
// text that stands for it, or a [Reason] why there is none.
package untyped

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"unicode/utf8"

	"culvert/source"
)

// Reason says why a value has no text; "" if it has.
type Reason string

const (
	outOfRange  Reason = "it is out of the range of its type"
	outOfYears  Reason = "it is not in the years 1 to 9999"
	notWholeDay Reason = "it is not a whole day"
	tooExact    Reason = "it has digits after the microsecond, which intervals do not have"
)

// Form is how the text of a value is made.
type Form uint8

// The forms of values that are integers, which [Printer.AppendInt] prints.
const (
	Bool Form = iota
	Int
	Unsigned // of 64 bits
	Float32  // the bits of the number
	Float64
	Date     // days since 1970
	DateTime // a Date in a unit of time
	Time     // since midnight
	Moment   // since 1970, of a timestamp or an instant
	Months
	Duration
	Decimal // also of bytes
)

// The forms of values that are bytes, which [Printer.AppendBytes] prints.
const (
	Float16      Form = iota + Decimal + 1
	Int96             // a moment: nanoseconds of a day, and the Julian day
	Interval          // months, days and milliseconds without signs
	DayTime           // days and milliseconds
	MonthDayNano      // months, days and nanoseconds
	UUID
	Text
	Bytes
	JSON
)

// Unit is a unit of time.
type Unit uint8

// The units of time.
const (
	Seconds Unit = iota
	Millis
	Micros
	Nanos
)

var (
	perSecond = [...]int64{1, 1e3, 1e6, 1e9}
	digits    = [...]int{0, 3, 6, 9}
)

// Digits returns how many digits after a second the unit has.
func (u Unit) Digits() int { return digits[u] }

// Printer makes the texts of the values of a column.
type Printer struct {
	Form      Form
	Logical   source.Type // of decimals, has their digits
	Unit      Unit        // of times
	Low, High int64       // the bounds of an Int, unless both are 0; it has no sign if Low is 0
	Zeros     int         // of decimals: what follows their digits, left of the point
}

// MostDecimal is the number of bytes that a decimal may have.
const MostDecimal = 512

// Kind returns the kind of the values.
func (p *Printer) Kind() source.Kind {
	switch p.Form {
	case Bool:
		return source.Bool
	case Int, Unsigned, Float16, Float32, Float64, Decimal:
		return source.Number
	case Bytes:
		return source.Bytes
	case JSON:
		return source.JSON
	default:
		return source.Text
	}
}

// AppendInt appends the text of a value that is an integer.
func (p *Printer) AppendInt(dst []byte, v int64) ([]byte, Reason) {
	switch p.Form {
	case Bool:
		if v != 0 {
			return append(dst, 't'), ""
		}
		return append(dst, 'f'), ""
	case Int:
		if p.Low == 0 && p.High > 0 {
			v = int64(uint32(v)) // without a sign
		}
		if p.High > 0 && (v < p.Low || v > p.High) {
			return dst, outOfRange
		}
		return strconv.AppendInt(dst, v, 10), ""
	case Unsigned:
		return strconv.AppendUint(dst, uint64(v), 10), ""
	case Float32:
		return appendFloat(dst, float64(math.Float32frombits(uint32(v))), 32), ""
	case Float64:
		return appendFloat(dst, math.Float64frombits(uint64(v)), 64), ""
	case Decimal:
		return p.appendDecimal(dst, v)
	case Date, DateTime, Time, Moment:
		return p.appendTime(dst, v)
	case Months:
		return appendInterval(dst, v, 0, 0, Seconds), ""
	case Duration:
		if p.Unit == Nanos && v%1000 != 0 {
			return dst, tooExact
		}
		return appendSpan(dst, v, p.Unit), ""
	default:
		panic("untyped: no integer")
	}
}

// AppendBytes appends the text of a value that is bytes. Decimals have the highest byte first; others are in little
// endian. The caller has checked that there are as many as the form has.
func (p *Printer) AppendBytes(dst, v []byte) ([]byte, Reason) {
	switch p.Form {
	case Text, JSON:
		if !utf8.Valid(v) {
			return dst, "it is not valid UTF-8"
		}
		return append(dst, v...), ""
	case Bytes:
		return append(dst, v...), ""
	case Decimal:
		return p.appendLargeDecimal(dst, v)
	case UUID:
		return appendUUID(dst, v), ""
	case Int96:
		return appendInt96(dst, v)
	case Float16:
		return appendFloat(dst, float16(binary.LittleEndian.Uint16(v)), 32), ""
	case Interval, DayTime, MonthDayNano:
		return p.appendParts(dst, v)
	default:
		panic("untyped: no bytes")
	}
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
