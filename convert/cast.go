package convert

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"time"

	"culvert/source"
)

var (
	errInteger = errors.New("it is no integer, such as -42")
	errDecimal = errors.New("it is no number, such as -42.50")
	errBoolean = errors.New("it is none of true, t, yes, y, on, 1, false, f, no, n, off and 0")
	errMoment  = errors.New("it is no date and time, such as 2026-01-31 10:00:00 or 2026-01-31T10:00:00Z")
)

// The words of truth, in lower case.
var (
	yes = []string{"true", "t", "yes", "y", "on", "1"}
	no  = []string{"false", "f", "no", "n", "off", "0"}
)

// cast returns what makes values of a type from the texts that programs have for them. White space at both ends does
// not count.
func (m moments) cast(to string) step {
	switch to {
	case "integer":
		return func(kind source.Kind, value, room []byte) (source.Kind, []byte, error) {
			return castNumber(kind, value, room, false)
		}
	case "decimal":
		return func(kind source.Kind, value, room []byte) (source.Kind, []byte, error) {
			return castNumber(kind, value, room, true)
		}
	case "boolean":
		return castBoolean
	}
	return m.castMoment
}

// castNumber takes digits, with a sign or without. Of an integer, digits after the point must be zeros.
func castNumber(kind source.Kind, value, room []byte, fractions bool) (source.Kind, []byte, error) {
	value = bytes.TrimSpace(value)
	err := errInteger
	if fractions {
		err = errDecimal
	}
	if kind == source.Bool {
		return kind, nil, err
	}
	negative := bytes.HasPrefix(value, []byte("-"))
	digits := value
	if negative || bytes.HasPrefix(value, []byte("+")) {
		digits = value[1:]
	}
	whole, fraction, _ := bytes.Cut(digits, []byte("."))
	if len(whole)+len(fraction) == 0 || !areDigits(whole) || !areDigits(fraction) {
		return kind, nil, err
	}
	if !fractions {
		if len(bytes.Trim(fraction, "0")) > 0 {
			return kind, nil, err
		}
		fraction = nil
	}
	whole = bytes.TrimLeft(whole, "0")
	if negative && len(whole)+len(bytes.Trim(fraction, "0")) > 0 {
		room = append(room, '-')
	}
	if len(whole) == 0 {
		room = append(room, '0')
	}
	room = append(room, whole...)
	if len(fraction) > 0 {
		room = append(append(room, '.'), fraction...)
	}
	return source.Number, room, nil
}

func castBoolean(kind source.Kind, value, _ []byte) (source.Kind, []byte, error) {
	const longest = len("false")
	word := bytes.TrimSpace(value)
	if len(word) > longest {
		return kind, nil, errBoolean
	}
	switch text := strings.ToLower(string(word)); {
	case slices.Contains(yes, text):
		return source.Bool, []byte("t"), nil
	case slices.Contains(no, text):
		return source.Bool, []byte("f"), nil
	}
	return kind, nil, errBoolean
}

// castMoment makes a timestamp, in UTC if the text has another offset.
func (m moments) castMoment(kind source.Kind, value, room []byte) (source.Kind, []byte, error) {
	const longest = 40 // characters of what can be one
	text := string(bytes.TrimSpace(value))
	if len(text) > longest {
		return kind, nil, errMoment
	}
	if before, is := strings.CutSuffix(text, " UTC"); is {
		text = before + "Z"
	}
	at, err := time.Parse(layoutOf(text), text)
	if err != nil {
		return kind, nil, errMoment
	}
	at = at.UTC()
	switch year := at.Year(); {
	case year < 1 || year > 9999:
		return kind, nil, errRange
	case at.Nanosecond()%1000 != 0:
		return kind, nil, errDigits
	}
	return source.Text, m.appendTo(room, at), nil
}

// layoutOf returns the layout that a text has if it is a date, perhaps with a time of the day, and perhaps with an
// offset from UTC: in the order of ISO 8601, or with days first if dots part them. A fraction of a second may follow
// the seconds, without being in the layout.
func layoutOf(text string) string {
	date, times := "2006-01-02", [2]string{"15:04", "15:04:05"}
	switch {
	case len(text) > 2 && text[2] == '.':
		date = "02.01.2006"
	case len(text) > 4 && text[4] != '-':
		date, times = "20060102", [2]string{"1504", "150405"}
	}
	if len(text) <= len(date) {
		return date
	}
	separator, clock, zone := text[len(date):len(date)+1], text[len(date)+1:], ""
	if separator != "T" {
		separator = " "
	}
	if at := strings.IndexAny(clock, "Z+-"); at >= 0 {
		switch len(clock[at:]) {
		case len("+01"):
			zone = "Z07"
		case len("+0100"):
			zone = "Z0700"
		default:
			zone = "Z07:00"
		}
		if clock = clock[:at]; strings.HasSuffix(clock, " ") {
			clock, zone = clock[:at-1], " "+zone
		}
	}
	if len(clock) <= len(times[0]) {
		return date + separator + times[0] + zone
	}
	return date + separator + times[1] + zone
}
