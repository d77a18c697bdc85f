package canonical

import (
	"bytes"
	"time"
)

// maxSecond is the most digits that the fraction of a second has.
const maxSecond = 6

// appendDate appends a day, whose month and day may have one digit.
func appendDate(dst, text []byte) ([]byte, bool) {
	begin, rest := len(dst), text
	for i := range 3 {
		n := digits(rest)
		if i == 0 && n != 4 || n < 1 || i > 0 && n > 2 {
			return dst, false
		}
		if n == 1 {
			dst = append(dst, '0')
		}
		dst, rest = append(dst, rest[:n]...), rest[n:]
		if i == 2 {
			break
		}
		if len(rest) == 0 || rest[0] != '-' {
			return dst, false
		}
		dst, rest = append(dst, '-'), rest[1:]
	}
	return dst, len(rest) == 0 && isDay(dst[begin:])
}

// appendTime appends a time of day: hours, minutes, and seconds with their fraction.
func appendTime(dst, text []byte) ([]byte, bool) {
	dst, rest, ok := appendClock(dst, text)
	return dst, ok && len(rest) == 0
}

// appendTimestamp appends a day and a time of day.
func appendTimestamp(dst, text []byte) ([]byte, bool) {
	dst, rest, ok := appendDayAndTime(dst, text)
	return dst, ok && len(rest) == 0
}

// appendInstant appends a moment in UTC.
func appendInstant(dst, text []byte) ([]byte, bool) {
	begin := len(dst)
	dst, rest, ok := appendDayAndTime(dst, text)
	if !ok {
		return dst, false
	}
	east, ok := parseZone(rest)
	if !ok {
		return dst, false
	}
	if east != 0 {
		const seconds = "2006-01-02 15:04:05"
		local, err := time.Parse(seconds, string(dst[begin:begin+len(seconds)]))
		if err != nil {
			return dst, false
		}
		there := local.Add(-east)
		if there.Year() < 1 || there.Year() > 9999 {
			return dst, false
		}
		there.AppendFormat(dst[:begin], seconds) // of the same length, before the fraction
	}
	return append(dst, "+00"...), true
}

// appendDayAndTime appends a day and a time of day, and returns what follows them.
func appendDayAndTime(dst, text []byte) (_, rest []byte, ok bool) {
	const day = len("2026-01-02")
	if len(text) < day+len(" 03:04") || text[day] != ' ' && text[day] != 'T' || !isDay(text[:day]) {
		return dst, text, false
	}
	dst = append(append(dst, text[:day]...), ' ')
	dst, rest, ok = appendClock(dst, text[day+1:])
	return dst, rest, ok && (text[day+1] != '2' || text[day+2] != '4') // the day ends before 24:00
}

// isDay reports whether there is a day with a text such as 2024-02-29.
func isDay(text []byte) bool {
	year, is := twoDigits(text)
	ending, also := twoDigits(text[2:])
	month, isMonth := twoDigits(text[5:])
	day, isDay := twoDigits(text[8:])
	if !is || !also || !isMonth || !isDay || text[4] != '-' || text[7] != '-' {
		return false
	}
	year = 100*year + ending
	if year == 0 || month < 1 || month > 12 || day < 1 {
		return false
	}
	last := 31
	switch month {
	case 4, 6, 9, 11:
		last = 30
	case 2:
		last = 28
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			last = 29
		}
	}
	return day <= last
}

// twoDigits returns the number that a text begins with.
func twoDigits(text []byte) (n int, ok bool) {
	if len(text) < 2 || text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9' {
		return 0, false
	}
	return int(text[0]-'0')*10 + int(text[1]-'0'), true
}

// appendClock appends a time of day up to 24:00:00, and returns what follows it. Seconds may be missing.
func appendClock(dst, text []byte) (_, rest []byte, ok bool) {
	hour, isHour := twoDigits(text)
	if !isHour || len(text) < len("03:04") || text[2] != ':' {
		return dst, text, false
	}
	minute, isMinute := twoDigits(text[3:])
	if !isMinute || hour > 24 || minute > 59 || hour == 24 && minute > 0 {
		return dst, text, false
	}
	dst, rest = append(dst, text[:5]...), text[5:]
	if len(rest) == 0 || rest[0] != ':' {
		return append(dst, ":00"...), rest, true
	}
	second, isSecond := twoDigits(rest[1:])
	if !isSecond || second > 59 || hour == 24 && second > 0 {
		return dst, text, false
	}
	dst, rest = append(dst, rest[:3]...), rest[3:]
	if len(rest) == 0 || rest[0] != '.' {
		return dst, rest, true
	}
	n := digits(rest[1:])
	fraction := bytes.TrimRight(rest[1:1+n], "0")
	if n == 0 || len(fraction) > maxSecond || hour == 24 && len(fraction) > 0 {
		return dst, text, false
	}
	if len(fraction) > 0 {
		dst = append(append(dst, '.'), fraction...)
	}
	return dst, rest[1+n:], true
}

// parseZone reads how far a zone is east of UTC: nothing, Z, +02, +0200, +02:00 or +02:00:00.
func parseZone(text []byte) (east time.Duration, ok bool) {
	switch {
	case len(text) == 0, string(text) == "Z", string(text) == "+00":
		return 0, true
	case text[0] != '+' && text[0] != '-':
		return 0, false
	}
	rest := text[1:]
	colons := len(rest) > 2 && rest[2] == ':'
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		if i > 0 && len(rest) == 0 {
			break
		}
		if i > 0 && colons {
			if rest[0] != ':' {
				return 0, false
			}
			rest = rest[1:]
		}
		n, is := twoDigits(rest)
		if !is || n > 59 {
			return 0, false
		}
		east, rest = east+time.Duration(n)*unit, rest[2:]
	}
	if text[0] == '-' {
		east = -east
	}
	return east, len(rest) == 0
}
