package convert

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"culvert/source"
)

// microseconds is the most digits after the second that databases keep.
const microseconds = 6

var (
	errNumber = errors.New("it is no number in plain decimal digits")
	errDigits = errors.New("it is more exact than a microsecond")
	errRange  = errors.New("it is not within the years 1 to 9999")
)

// moments says how a column prints a timestamp.
type moments struct {
	zone   bool // with its offset from UTC
	digits int  // after the second, also if they are zeros
}

// momentsOf finds that in the type of a column: PostgreSQL prints the offset of timestamp with time zone, and MySQL all
// digits of datetime(3).
func momentsOf(of string) (m moments) {
	m.zone = strings.Contains(of, "with time zone")
	name, rest, found := strings.Cut(of, "(")
	if found && (name == "datetime" || name == "timestamp") && strings.HasSuffix(rest, ")") {
		m.digits, _ = strconv.Atoi(strings.TrimSuffix(rest, ")")) // none, if it is another type
	}
	return m
}

// step returns what makes timestamps of numbers of a unit.
func (m moments) step(unit string) step {
	return func(kind source.Kind, value, room []byte) (source.Kind, []byte, error) {
		if kind != source.Number && kind != source.Text {
			return kind, nil, errNumber
		}
		var at time.Time
		var err error
		switch unit {
		case "seconds":
			at, err = secondsOf(value, 0)
		case "millis":
			at, err = secondsOf(value, 3)
		case "julian":
			at, err = julian(value)
		}
		if err != nil {
			return kind, nil, err
		}
		if year := at.Year(); year < 1 || year > 9999 {
			return kind, nil, errRange
		}
		return source.Text, m.appendTo(room, at), nil
	}
}

func (m moments) appendTo(dst []byte, at time.Time) []byte {
	dst = at.AppendFormat(dst, "2006-01-02 15:04:05.000000")
	least := len(dst) - microseconds + min(m.digits, microseconds)
	for len(dst) > least && dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	dst = bytes.TrimSuffix(dst, []byte("."))
	if m.zone {
		dst = append(dst, "+00"...)
	}
	return dst
}

// secondsOf reads a number of units of 10^-shift seconds, exactly.
func secondsOf(value []byte, shift int) (time.Time, error) {
	whole, fraction, point := bytes.Cut(value, []byte("."))
	digits := bytes.TrimPrefix(whole, []byte("-"))
	const most = 15 // digits that certainly fit
	if len(digits) == 0 || point && len(fraction) == 0 || !areDigits(digits) || !areDigits(fraction) {
		return time.Time{}, errNumber
	}
	if len(digits) > most {
		return time.Time{}, errRange
	}
	fraction = bytes.TrimRight(fraction, "0")
	if len(fraction) > microseconds-shift {
		return time.Time{}, errDigits
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return time.Time{}, errNumber
	}
	micros := int64(0) // of the fraction
	if len(fraction) > 0 {
		zeros := strings.Repeat("0", microseconds-shift-len(fraction))
		if micros, err = strconv.ParseInt(string(fraction)+zeros, 10, 64); err != nil {
			return time.Time{}, errNumber
		}
	}
	unit := int64(math.Pow10(shift)) // of a second
	seconds, micros := n/unit, n%unit*(1e6/unit)+micros
	if len(digits) < len(whole) {
		seconds, micros = -seconds, -micros
	}
	return time.Unix(seconds, micros*1000).UTC(), nil
}

func areDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// julian reads a number of days since noon of November 24 of the year -4713, in UTC, and rounds it to milliseconds, as
// SQLite does: https://sqlite.org/lang_datefunc.html.
func julian(value []byte) (time.Time, error) {
	days, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsNaN(days):
		return time.Time{}, errNumber
	case math.Abs(days) > 1e7: // the year 9999 is half of it
		return time.Time{}, errRange
	}
	const perDay, unix = 86_400_000, 210_866_760_000_000 // milliseconds: 2440587.5 days
	return time.UnixMilli(int64(math.Floor(days*perDay+0.5)) - unix).UTC(), nil
}
