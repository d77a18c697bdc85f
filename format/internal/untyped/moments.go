package untyped

import (
	"encoding/binary"
	"strconv"

	"culvert/internal/canonical"
	"culvert/source"
)

// The days of the years 1 to 9999, since 1970.
const (
	firstDay = -719162
	lastDay  = 2932896
)

// appendDay appends a day by its number since 1970.
func appendDay(dst []byte, days int64) []byte {
	year, month, day := canonical.DayOf(days)
	dst = appendPair(dst, year/100)
	dst = append(appendPair(dst, year%100), '-')
	dst = append(appendPair(dst, month), '-')
	return appendPair(dst, day)
}

// appendPair appends two digits.
func appendPair[T int | int64](dst []byte, v T) []byte {
	return append(dst, byte('0'+v/10), byte('0'+v%10))
}

// appendClock appends a time of day, without zeros at the end of its fraction.
func appendClock(dst []byte, v int64, unit Unit) []byte {
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

// appendTime appends a day, a time of day, or both.
func (p *Printer) appendTime(dst []byte, v int64) ([]byte, Reason) {
	const seconds = 24 * 60 * 60
	day := seconds * perSecond[p.Unit]
	days, clock := v, int64(0)
	switch p.Form {
	case Time:
		if v < 0 || v >= day {
			return dst, outOfRange
		}
		return appendClock(dst, v, p.Unit), ""
	case Date:
	default:
		if days, clock = v/day, v%day; clock < 0 {
			days, clock = days-1, clock+day
		}
	}
	switch {
	case p.Form == DateTime && clock != 0:
		return dst, notWholeDay
	case days < firstDay || days > lastDay:
		return dst, outOfYears
	}
	if dst = appendDay(dst, days); p.Form != Moment {
		return dst, ""
	}
	dst = appendClock(append(dst, ' '), clock, p.Unit)
	if p.Logical.Class == source.InstantClass {
		dst = append(dst, "+00"...)
	}
	return dst, ""
}

// appendInt96 appends a moment of old files of Parquet: nanoseconds of a day, and its number in Julian days.
func appendInt96(dst, v []byte) ([]byte, Reason) {
	const unixDay = 2440588
	clock := int64(binary.LittleEndian.Uint64(v))
	days := int64(int32(binary.LittleEndian.Uint32(v[8:]))) - unixDay
	ofDay := 24 * 60 * 60 * perSecond[Nanos]
	if clock < 0 || clock >= ofDay || days < firstDay || days > lastDay {
		return dst, outOfYears
	}
	return appendClock(append(appendDay(dst, days), ' '), clock, Nanos), ""
}

// appendParts appends a span of time that has several parts.
func (p *Printer) appendParts(dst, v []byte) ([]byte, Reason) {
	at := func(i int) uint32 { return binary.LittleEndian.Uint32(v[i:]) }
	switch p.Form {
	case Interval:
		return appendInterval(dst, int64(at(0)), int64(at(4)), int64(at(8)), Millis), ""
	case DayTime:
		return appendInterval(dst, 0, int64(int32(at(0))), int64(int32(at(4))), Millis), ""
	default:
		clock := int64(binary.LittleEndian.Uint64(v[8:]))
		if clock%1000 != 0 {
			return dst, tooExact
		}
		return appendInterval(dst, int64(int32(at(0))), int64(int32(at(4))), clock, Nanos), ""
	}
}

// appendInterval appends a span of months, days and a time, in words that PostgreSQL reads.
func appendInterval(dst []byte, months, days, clock int64, unit Unit) []byte {
	dst = append(strconv.AppendInt(dst, months, 10), " mons "...)
	dst = append(strconv.AppendInt(dst, days, 10), " days "...)
	return appendSpan(dst, clock, unit)
}

// appendSpan appends a span of hours, minutes and seconds.
func appendSpan(dst []byte, v int64, unit Unit) []byte {
	n := uint64(v)
	if v < 0 {
		dst, n = append(dst, '-'), -n
	}
	hour := uint64(3600 * perSecond[unit])
	if hours := n / hour; hours < 10 {
		dst = append(dst, '0', byte('0'+hours))
	} else {
		dst = strconv.AppendUint(dst, hours, 10)
	}
	var clock [20]byte
	return append(dst, appendClock(clock[:0], int64(n%hour), unit)[2:]...)
}
