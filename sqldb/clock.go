package sqldb

import (
	"strconv"
	"strings"
	"time"
)

// clock is the meaning of times in a column, which the driver's [time.Time] does not tell.
type clock uint8

const (
	unknownClock   clock = iota
	date                 // a day
	timeOfDay            // a time of any day, without a zone
	zonedTimeOfDay       // a time of any day, with a zone
	wallClock            // a day and a time of day, without a zone
	instant              // a moment in time
)

// clockOf returns the clock of a column type, whose name is in upper case.
func clockOf(name string) clock {
	name = strings.Replace(name, "TIMEZONE", "TIME ZONE", 1)
	name, zoned := strings.CutSuffix(name, " WITH TIME ZONE")
	if !zoned {
		name, zoned = strings.CutSuffix(name, " WITH LOCAL TIME ZONE")
	}
	name, _, _ = strings.Cut(strings.TrimSuffix(name, " WITHOUT TIME ZONE"), "(")
	switch name {
	case "DATE", "DATE32":
		return date
	case "TIME":
		if zoned {
			return zonedTimeOfDay
		}
		return timeOfDay
	case "TIMETZ":
		return zonedTimeOfDay
	case "TIMESTAMPTZ", "TIMESTAMP_TZ", "TIMESTAMP_LTZ", "TIMESTAMPTZ_DTY", "TIMESTAMPLTZ_DTY":
		return instant
	case "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPDTY",
		"DATETIME", "DATETIME2", "DATETIME64", "SMALLDATETIME":
		if zoned {
			return instant
		}
		return wallClock
	}
	return unknownClock
}

// appendTime appends a time as PostgreSQL prints it. Parts of the time that the type should not have are kept.
func (c clock) appendTime(dst []byte, t time.Time) []byte {
	if c == instant {
		t = t.UTC()
	}
	_, offset := t.Zone()
	midnight := t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 && t.Nanosecond() == 0
	switch {
	case c == date && midnight:
		return appendYearFirst(dst, t, "-01-02")
	case c == instant:
		return appendYearFirst(dst, t, "-01-02 15:04:05.999999999+00")
	case c == wallClock && offset == 0, c == date && offset == 0:
		return appendYearFirst(dst, t, "-01-02 15:04:05.999999999")
	case c == timeOfDay && offset == 0 || c == zonedTimeOfDay:
		if out, ok := appendTimeOfDay(dst, t, c == zonedTimeOfDay); ok {
			return out
		}
	}
	return t.AppendFormat(dst, time.RFC3339Nano)
}

// appendTimeOfDay appends a time of day, if its date is one that drivers use for times of day.
func appendTimeOfDay(dst []byte, t time.Time, zoned bool) (out []byte, ok bool) {
	year, month, day := t.Date()
	midnight := t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 && t.Nanosecond() == 0
	switch {
	case month == time.January && day == 1 && (year == 0 || year == 1 || year == 1970):
		dst = t.AppendFormat(dst, "15:04:05.999999999")
	case month == time.January && day == 2 && year == 0 && midnight: // the end of a day in lib/pq
		dst = append(dst, "24:00:00"...)
	default:
		return dst, false
	}
	if !zoned {
		return dst, true
	}
	layout := "-07"
	switch _, offset := t.Zone(); {
	case offset%60 != 0:
		layout = "-07:00:00"
	case offset%3600 != 0:
		layout = "-07:00"
	}
	return t.AppendFormat(dst, layout), true
}

// appendDuration appends a duration as PostgreSQL prints an interval without days.
func appendDuration(dst []byte, d time.Duration) []byte {
	rest := uint64(d)
	if d < 0 {
		dst, rest = append(dst, '-'), -rest
	}
	two := func(n uint64) {
		if n < 10 {
			dst = append(dst, '0')
		}
		dst = strconv.AppendUint(dst, n, 10)
	}
	two(rest / uint64(time.Hour))
	dst = append(dst, ':')
	two(rest / uint64(time.Minute) % 60)
	dst = append(dst, ':')
	two(rest / uint64(time.Second) % 60)
	if rest %= uint64(time.Second); rest > 0 {
		fraction := strconv.AppendUint(nil, rest+uint64(time.Second), 10)[1:]
		dst = append(append(dst, '.'), strings.TrimRight(string(fraction), "0")...)
	}
	return dst
}

// appendYearFirst appends the year, followed by the layout. Package time has a year 0, SQL does not.
func appendYearFirst(dst []byte, t time.Time, layout string) []byte {
	year, era := t.Year(), ""
	if year <= 0 {
		year, era = 1-year, " BC"
	}
	for limit := 1000; limit > 1 && year < limit; limit /= 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, int64(year), 10)
	dst = t.AppendFormat(dst, layout)
	return append(dst, era...)
}
