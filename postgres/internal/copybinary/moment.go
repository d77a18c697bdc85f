package copybinary

import (
	"encoding/binary"
	"time"

	"culvert/source"
)

// Dates are days, and times microseconds, since the beginning of the year 2000 (date_recv in date.c, timestamp_recv in
// timestamp.c).
const (
	daysBefore2000 = 10_957 // since 1970
	secondsOfDay   = 24 * 60 * 60
	microseconds   = 1_000_000
	placesOfSecond = 6
)

func date(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	days, rest, ok := parseDate(value)
	if !ok || len(rest) > 0 || kind == source.Bytes {
		return dst, false
	}
	return binary.BigEndian.AppendUint32(dst, uint32(int32(days))), true
}

func timeOfDay(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	clock, rest, ok := parseClock(value)
	if !ok || len(rest) > 0 || kind == source.Bytes {
		return dst, false
	}
	return binary.BigEndian.AppendUint64(dst, uint64(clock)), true
}

// timestamp is a date and a time. One with a time zone is an instant, whose offset may be named.
func timestamp(isZoned bool) column {
	return func(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
		days, rest, ok := parseDate(value)
		if !ok || len(rest) == 0 || rest[0] != ' ' && rest[0] != 'T' || kind == source.Bytes {
			return dst, false
		}
		clock, rest, ok := parseClock(rest[1:])
		if !ok {
			return dst, false
		}
		offset := int64(0)
		if len(rest) > 0 {
			if offset, ok = parseOffset(rest); !ok || !isZoned {
				return dst, false
			}
		}
		moment := (days*secondsOfDay-offset)*microseconds + clock
		return binary.BigEndian.AppendUint64(dst, uint64(moment)), true
	}
}

// parseDate reads a date with a year of four digits.
func parseDate(value []byte) (days int64, rest []byte, ok bool) {
	const length = len("2026-01-31")
	if len(value) < length || value[4] != '-' || value[7] != '-' {
		return 0, nil, false
	}
	century, year, month, day := pair(value), pair(value[2:]), pair(value[5:]), pair(value[8:])
	if century < 0 || year < 0 || month < 1 || month > 12 || day < 1 {
		return 0, nil, false
	}
	year += 100 * century
	if year == 0 || day > 28 && day > daysOf(time.Month(month), year) {
		return 0, nil, false
	}
	return daysSince1970(year, month, day) - daysBefore2000, value[length:], true
}

func daysOf(month time.Month, year int) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// daysSince1970 is days_from_civil of Howard Hinnant, http://howardhinnant.github.io/date_algorithms.html, for years
// after Christ. The year begins in March, so that a leap day is its last one.
func daysSince1970(year, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era, ofEra := year/400, year%400
	const daysOfEra, daysBefore1970 = 146_097, 719_468
	dayOfYear := (153*((month+9)%12)+2)/5 + day - 1
	dayOfEra := ofEra*365 + ofEra/4 - ofEra/100 + dayOfYear
	return int64(era*daysOfEra + dayOfEra - daysBefore1970)
}

// parseClock reads hours, minutes, seconds, and up to six digits of a fraction. It returns microseconds.
func parseClock(value []byte) (clock int64, rest []byte, ok bool) {
	const length = len("10:00:00")
	if len(value) < length || value[2] != ':' || value[5] != ':' {
		return 0, nil, false
	}
	hour, minute, second := pair(value), pair(value[3:]), pair(value[6:])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return 0, nil, false
	}
	clock = int64((hour*60+minute)*60+second) * microseconds
	if rest = value[length:]; len(rest) == 0 || rest[0] != '.' {
		return clock, rest, true
	}
	fraction, places := int64(0), 0
	for rest = rest[1:]; len(rest) > 0 && '0' <= rest[0] && rest[0] <= '9'; rest = rest[1:] {
		fraction = fraction*10 + int64(rest[0]-'0')
		if places++; places > placesOfSecond {
			return 0, nil, false
		}
	}
	if places == 0 {
		return 0, nil, false
	}
	for ; places < placesOfSecond; places++ {
		fraction *= 10
	}
	return clock + fraction, rest, true
}

// parseOffset reads an offset from UTC, as +02, +02:30 or +0230, and returns seconds.
func parseOffset(value []byte) (seconds int64, ok bool) {
	if len(value) < len("+02") || value[0] != '+' && value[0] != '-' {
		return 0, string(value) == "Z"
	}
	hours, rest := pair(value[1:]), value[3:]
	minutes := 0
	if len(rest) > 0 {
		if rest[0] == ':' {
			rest = rest[1:]
		}
		if len(rest) != 2 {
			return 0, false
		}
		minutes = pair(rest)
	}
	if hours < 0 || hours > 15 || minutes < 0 || minutes > 59 { // the server takes less than 16 hours
		return 0, false
	}
	seconds = int64(hours*60+minutes) * 60
	if value[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// pair returns the number of two digits, or one below 0.
func pair(digits []byte) int {
	tens, ones := int(digits[0])-'0', int(digits[1])-'0'
	if uint(tens) > 9 || uint(ones) > 9 {
		return -1
	}
	return 10*tens + ones
}
