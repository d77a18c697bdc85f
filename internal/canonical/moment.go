package canonical

import (
	"bytes"
	"strconv"
	"time"
)

// maxSecond is the most digits that the fraction of a second has.
const maxSecond = 6

// appendDate appends a day. Midnight in UTC may follow it.
func appendDate(dst, text []byte) ([]byte, bool) {
	dst, rest, ok := appendDay(dst, text)
	if !ok || len(rest) == 0 {
		return dst, ok
	}
	day := len(dst)
	if dst, rest, ok = appendTimeOfDay(dst, rest); !ok || string(dst[day:]) != " 00:00:00" {
		return dst, false
	}
	return dst[:day], isUTC(rest)
}

// appendTime appends a time: hours, minutes, and seconds with their fraction. MySQL has negative ones, and more hours
// than a day has.
func appendTime(dst, text []byte) ([]byte, bool) {
	begin := len(dst)
	dst = append(dst, '-')
	digits := bytes.TrimPrefix(text, dst[begin:])
	dst, rest, ok := appendClock(dst, digits, maxHour)
	if len(digits) == len(text) || string(dst[begin:]) == "-00:00:00" {
		dst = append(dst[:begin], dst[begin+1:]...)
	}
	return dst, ok && isUTC(rest)
}

// appendTimestamp appends a day and a time of day, which may be said to be in UTC.
func appendTimestamp(dst, text []byte) ([]byte, bool) {
	dst, rest, ok := appendDayAndTime(dst, text)
	return dst, ok && isUTC(rest)
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

// appendDayAndTime appends a day and a time of day, and returns what follows them. A day alone is its midnight.
func appendDayAndTime(dst, text []byte) (_, rest []byte, ok bool) {
	dst, rest, ok = appendDay(dst, text)
	if !ok {
		return dst, text, false
	}
	if len(rest) == 0 {
		return append(dst, " 00:00:00"...), nil, true
	}
	return appendTimeOfDay(dst, rest)
}

// appendTimeOfDay appends the time that follows a day, and returns what follows that.
func appendTimeOfDay(dst, text []byte) (_, rest []byte, ok bool) {
	if text[0] != ' ' && text[0] != 'T' {
		return dst, text, false
	}
	return appendClock(append(dst, ' '), text[1:], maxHour)
}

// appendDay appends a day, whose month and day may have one digit, and returns what follows it.
func appendDay(dst, text []byte) (_, rest []byte, ok bool) {
	begin := len(dst)
	const year = 4
	if digits(text) != year || len(text) == year || text[year] != '-' && text[year] != '/' {
		return dst, text, false
	}
	separator := text[year]
	dst, rest = append(dst, text[:year]...), text[year:]
	for range 2 {
		if len(rest) == 0 || rest[0] != separator {
			return dst, text, false
		}
		n := digits(rest[1:])
		if dst = append(dst, '-'); n == 1 {
			dst = append(dst, '0')
		}
		if n < 1 || n > 2 {
			return dst, text, false
		}
		dst, rest = append(dst, rest[1:1+n]...), rest[1+n:]
	}
	return dst, rest, isDay(dst[begin:])
}

// isDay reports whether there is a day with a text such as 2024-02-29. MySQL has some without a month or a day.
func isDay(text []byte) bool {
	year, is := twoDigits(text)
	ending, also := twoDigits(text[2:])
	month, isMonth := twoDigits(text[5:])
	day, isDay := twoDigits(text[8:])
	if !is || !also || !isMonth || !isDay || month > 12 {
		return false
	}
	return day <= DaysIn(100*year+ending, month)
}

// DaysIn returns the number of days of a month, from 1 to 12, in a year of the Gregorian calendar.
func DaysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// twoDigits returns the number that a text begins with.
func twoDigits(text []byte) (n int, ok bool) {
	if len(text) < 2 || text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9' {
		return 0, false
	}
	return int(text[0]-'0')*10 + int(text[1]-'0'), true
}

// maxHour is the last hour of a TIME of MySQL. Whether a day has an hour is for the database.
const maxHour = 838

// appendClock appends a time up to an hour, and returns what follows it. Seconds may be missing.
func appendClock(dst, text []byte, last int) (_, rest []byte, ok bool) {
	n := digits(text)
	if n == 0 || n > 3 || len(text) < n+len(":04") || text[n] != ':' {
		return dst, text, false
	}
	hour := 0
	for _, c := range text[:n] {
		hour = 10*hour + int(c-'0')
	}
	minute, isMinute := twoDigits(text[n+1:])
	if !isMinute || minute > 59 || hour > last {
		return dst, text, false
	}
	if hour < 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, int64(hour), 10)
	dst, rest = append(dst, text[n:n+3]...), text[n+3:]
	if len(rest) == 0 || rest[0] != ':' {
		return append(dst, ":00"...), rest, true
	}
	second, isSecond := twoDigits(rest[1:])
	if !isSecond || second > 59 {
		return dst, text, false
	}
	dst, rest = append(dst, rest[:3]...), rest[3:]
	if len(rest) == 0 || rest[0] != '.' {
		return dst, rest, true
	}
	n = digits(rest[1:])
	fraction := bytes.TrimRight(rest[1:1+n], "0")
	if n == 0 || len(fraction) > maxSecond {
		return dst, text, false
	}
	if len(fraction) > 0 {
		dst = append(append(dst, '.'), fraction...)
	}
	return dst, rest[1+n:], true
}

// isUTC reports whether a zone is UTC, or not there.
func isUTC(zone []byte) bool {
	east, ok := parseZone(zone)
	return ok && east == 0
}

// parseZone reads how far a zone is east of UTC: nothing, Z, +02, +0200, +02:00 or +02:00:00, also after a space.
func parseZone(text []byte) (east time.Duration, ok bool) {
	if len(text) > 1 && text[0] == ' ' && text[1] != 'Z' {
		text = text[1:]
	}
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
