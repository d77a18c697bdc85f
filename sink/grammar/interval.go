package grammar

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// units are those of an interval. A column may keep only some of them: interval day to hour.
var units = []string{"year", "month", "day", "hour", "minute", "second"}

// words are their names in a value.
var words = [][]string{{"year", "years"}, {"mon", "mons", "month", "months"}, {"day", "days"}}

const (
	notInterval = "the column takes intervals such as 1 day 10:00:00"
	hoursAt     = 3 // among the units
)

// durations are intervals of ISO 8601.
var durations = lazyregexp.New(`^P[-0-9.YMWDTHS]+$`)

// interval is the grammar of intervals down to a unit, the last of some, or "" for all. PostgreSQL drops the rest.
func interval(fields string, places int) Grammar {
	last := len(units) - 1
	if fields != "" {
		last = slices.Index(units, fields[strings.LastIndexByte(fields, ' ')+1:])
	}
	return func(kind source.Kind, value []byte) string {
		if len(value) > 0 && value[0] == 'P' {
			_, fraction, _ := bytes.Cut(value, []byte{'.'})
			if fields == "" && digits(fraction) <= places && durations.Match(value) {
				return ""
			}
			return notInterval
		}
		r := reader{text: value}
		smallest, fraction, ok := r.interval()
		switch {
		case kind == source.Bytes || !ok:
			return notInterval
		case smallest > last:
			return "the column keeps no less than " + units[last] + "s"
		case fraction > places:
			return fmt.Sprintf("the column keeps %d digits of fractions of a second", places)
		}
		return ""
	}
}

// interval reads numbers of units and a time. It returns the smallest unit of which there is any, and the digits of a
// second.
func (r *reader) interval() (smallest, places int, ok bool) {
	smallest = -1
	for unit := range hoursAt {
		start := r.at
		r.oneOf("+-")
		n, isNumber := r.number(1, len(r.text))
		if !isNumber || !r.oneOf(" ") || !r.word(words[unit]) {
			r.at = start
			continue
		}
		if n != 0 {
			smallest = unit
		}
		if r.ended() {
			return smallest, 0, true
		}
		if !r.oneOf(" ") {
			return 0, 0, false
		}
	}
	r.oneOf("+-")
	hours, isNumber := r.number(1, len(r.text))
	if !isNumber || !r.oneOf(":") {
		return 0, 0, false
	}
	minutes, seconds, places, ok := r.minutes()
	for i, n := range []bool{hours != 0, minutes != 0, seconds != 0 || places > 0} {
		if n {
			smallest = hoursAt + i
		}
	}
	return smallest, places, ok && r.ended()
}

// word reads one of some words, up to a space.
func (r *reader) word(known []string) bool {
	rest := r.text[r.at:]
	if end := bytes.IndexByte(rest, ' '); end >= 0 {
		rest = rest[:end]
	}
	for _, word := range known {
		if string(rest) == word {
			r.at += len(rest)
			return true
		}
	}
	return false
}
