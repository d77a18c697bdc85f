package sqldb

import (
	"strconv"
	"strings"
	"time"
)

// clock is what a time means in a column, of which the driver's [time.Time] does not tell.
type clock uint8

const (
	unknownClock clock = iota
	date               // a day
	wallClock          // a day and a time of day, anywhere
	instant            // the same moment everywhere
)

// clockOf gives the clock of the columns of a type.
func clockOf(typeName string) clock {
	name := strings.ToUpper(typeName)
	if name == "TIMESTAMPTZ" || strings.HasSuffix(name, " WITH TIME ZONE") {
		return instant
	}
	name, _, _ = strings.Cut(strings.TrimSuffix(name, " WITHOUT TIME ZONE"), "(")
	switch name {
	case "DATE":
		return date
	case "TIMESTAMP", "DATETIME":
		return wallClock
	}
	return unknownClock
}

// appendTime appends a time as PostgreSQL prints it. What the type of the column would leave out of it stays.
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
	case c != unknownClock && offset == 0:
		return appendYearFirst(dst, t, "-01-02 15:04:05.999999999")
	}
	return t.AppendFormat(dst, time.RFC3339Nano)
}

// appendYearFirst appends the year and then what layout says. Package time counts a year 0 before the first one, SQL
// does not.
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
