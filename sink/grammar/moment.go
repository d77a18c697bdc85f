package grammar

import (
	"bytes"
	"fmt"
	"strings"

	"culvert/source"
)

// moment is the grammar of a date, a time of a day, or both.
type moment struct {
	date, clock bool
	places      int  // digits of fractions of a second
	offset      bool // it has an offset from UTC; otherwise only that of UTC is accepted
	years       int  // the most digits of a year
	era         bool // a year may be before Christ
	zeros       bool // a month or a day may be zero
	midnight    bool // a day may end at 24:00
	hours       int  // the most digits of hours, which may be negative if there are more than two
}

// The reasons why a date or time is not kept.
const (
	notDate   = "the column takes dates such as 2026-01-31"
	notClock  = "the column takes times such as 10:00:00"
	hasOffset = "the column would not keep its offset"
	hasClock  = "the column would not keep its time"
)

func (m moment) grammar() Grammar {
	return func(_ source.Kind, value []byte) string {
		r := reader{text: value}
		if m.era {
			r.text = bytes.TrimSuffix(value, []byte(" BC"))
		}
		if m.date {
			if !r.date(&m) {
				return notDate
			}
			if r.ended() {
				return ""
			}
			if !r.oneOf("T ") {
				return notDate
			}
		}
		zero, digits, ok := r.clock(&m)
		if !ok {
			return notClock
		}
		offset, ok := r.zone()
		switch {
		case !ok:
			return notClock
		case !m.clock && !zero:
			return hasClock
		case m.clock && !m.offset && offset:
			return hasOffset
		case m.clock && digits > m.places:
			return fmt.Sprintf("the column keeps %d digits of fractions of a second", m.places)
		}
		return ""
	}
}

// reader reads a text from its beginning.
type reader struct {
	text []byte
	at   int
}

func (r *reader) ended() bool { return r.at == len(r.text) }

func (r *reader) oneOf(characters string) bool {
	if r.ended() || strings.IndexByte(characters, r.text[r.at]) < 0 {
		return false
	}
	r.at++
	return true
}

// number reads a number of at least and at most so many digits.
func (r *reader) number(least, most int) (n int, ok bool) {
	length := min(digits(r.text[r.at:]), most)
	for _, c := range r.text[r.at : r.at+length] {
		n = n*10 + int(c-'0')
	}
	r.at += length
	return n, length >= least
}

// date reads a year, a month and a day.
func (r *reader) date(m *moment) bool {
	year := 4
	_, ok := r.number(year, m.years)
	if !ok || r.ended() {
		return false
	}
	separator := string(r.text[r.at])
	if !r.oneOf("-/") {
		return false
	}
	month, ok := r.number(1, 2)
	if !ok || !r.oneOf(separator) {
		return false
	}
	day, ok := r.number(1, 2)
	if !ok || !m.zeros && (month == 0 || day == 0) {
		return false
	}
	return month <= 12 && day <= 31
}

// clock reads hours, minutes and seconds. It also returns whether they are zero, and the digits of a second.
func (r *reader) clock(m *moment) (zero bool, places int, ok bool) {
	if m.hours > 2 {
		r.oneOf("-")
	}
	hours, ok := r.number(1, max(2, m.hours))
	const hoursOfDay = 24
	if !ok || !r.oneOf(":") || m.hours <= 2 && hours > hoursOfDay {
		return false, 0, false
	}
	minutes, ok := r.number(2, 2)
	if !ok || minutes > 59 {
		return false, 0, false
	}
	seconds := 0
	if r.oneOf(":") {
		if seconds, ok = r.number(2, 2); !ok || seconds > 59 {
			return false, 0, false
		}
		if r.oneOf(".") {
			length := digits(r.text[r.at:])
			places = len(bytes.TrimRight(r.text[r.at:r.at+length], "0"))
			r.at += length
			ok = length > 0
		}
	}
	zero = minutes == 0 && seconds == 0 && places == 0
	if hours == hoursOfDay && m.hours <= 2 {
		return false, places, ok && zero && m.midnight
	}
	return zero && hours == 0, places, ok
}

// zone reads an offset from UTC, if there is one, to the end of the text. It returns whether it is another than zero.
func (r *reader) zone() (offset, ok bool) {
	if r.ended() || r.oneOf("Z") {
		return false, r.ended()
	}
	r.oneOf(" ")
	if !r.oneOf("+-") {
		return false, false
	}
	for {
		n, ok := r.number(2, 2)
		if !ok {
			return offset, false
		}
		if offset = offset || n > 0; r.ended() {
			return offset, true
		}
		r.oneOf(":")
	}
}
