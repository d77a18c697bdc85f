package grammar

import (
	"bytes"
	"fmt"

	"culvert/internal/canonical"
	"culvert/internal/lazyregexp"
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
		if m.date && m.clock && m.isUsual(value) {
			return ""
		}
		return m.read(value)
	}
}

func (m *moment) read(value []byte) string {
	r := reader{text: value}
	if m.era && len(value) > 0 && value[len(value)-1] == 'C' {
		r.text = bytes.TrimSuffix(value, []byte(" BC"))
	}
	if m.date {
		if !r.date(m) {
			return notDate
		}
		if r.ended() {
			return ""
		}
		if !r.oneOf("T ") {
			return notDate
		}
	}
	zero, digits, ok := r.clock(m)
	if !ok {
		return notClock
	}
	offset, ok := r.zone()
	switch {
	case !ok:
		return notClock
	case !m.clock && !zero:
		return hasClock
	case !m.offset && offset:
		return hasOffset
	case m.clock && digits > m.places:
		return fmt.Sprintf("the column keeps %d digits of fractions of a second", m.places)
	}
	return ""
}

// isUsual reports whether a text is a date with a time in the form that most have, and what the column keeps of it is
// the same. To see that takes a third of the time in which the text is read.
func (m *moment) isUsual(text []byte) bool {
	const size = len("2026-01-02 03:04:05")
	if len(text)-size-1 > m.places || !canonical.IsUsualMoment(text) {
		return false
	}
	two := func(at int) int { return int(text[at]-'0')*10 + int(text[at+1]-'0') }
	return two(5) > 0 && two(8) > 0 && two(11) <= 23
}

// reader reads a text from its beginning.
type reader struct {
	text []byte
	at   int
}

func (r *reader) ended() bool { return r.at == len(r.text) }

func (r *reader) oneOf(characters string) bool {
	if r.ended() {
		return false
	}
	for i := range len(characters) {
		if r.text[r.at] == characters[i] {
			r.at++
			return true
		}
	}
	return false
}

// number reads a number of at least and at most so many digits.
func (r *reader) number(least, most int) (n int, ok bool) {
	start := r.at
	for r.at < len(r.text) && r.at-start < most && '0' <= r.text[r.at] && r.text[r.at] <= '9' {
		n = n*10 + int(r.text[r.at]-'0')
		r.at++
	}
	return n, r.at-start >= least
}

// date reads a year, a month and a day.
func (r *reader) date(m *moment) bool {
	year := 4
	_, ok := r.number(year, m.years)
	if !ok || r.ended() {
		return false
	}
	separator := "-"
	if r.text[r.at] == '/' {
		separator = "/"
	}
	if !r.oneOf(separator) {
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
	minutes, seconds, places, ok := r.minutes()
	zero = minutes == 0 && seconds == 0 && places == 0
	if hours == hoursOfDay && m.hours <= 2 {
		return false, places, ok && zero && m.midnight
	}
	return zero && hours == 0, places, ok
}

// minutes reads minutes and seconds. It also returns the digits of a second.
func (r *reader) minutes() (minutes, seconds, places int, ok bool) {
	if minutes, ok = r.number(2, 2); !ok || minutes > 59 {
		return 0, 0, 0, false
	}
	if !r.oneOf(":") {
		return minutes, 0, 0, true
	}
	if seconds, ok = r.number(2, 2); !ok || seconds > 59 {
		return 0, 0, 0, false
	}
	if r.oneOf(".") {
		length := digits(r.text[r.at:])
		r.at += length
		for places = length; places > 0 && r.text[r.at-length+places-1] == '0'; places-- {
		}
		ok = length > 0
	}
	return minutes, seconds, places, ok
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

// IsZeroDate reports whether a text is a date of MySQL whose month or day is zero, with or without a time, which other
// systems do not have.
func IsZeroDate(text []byte) bool {
	r := reader{text: text}
	if !r.date(&moment{years: 4, zeros: true}) || r.at != lengthOfDate || text[4] != '-' {
		return false
	}
	return (string(text[5:7]) == "00" || string(text[8:10]) == "00") && (r.ended() || r.oneOf(" T"))
}

// distant matches dates and times of years before Christ, or of more than four digits, as PostgreSQL prints them.
var distant = lazyregexp.New(`^(?:[0-9]{4}|[1-9][0-9]{4,6})-[0-9]{2}-[0-9]{2}` +
	`(?: [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*[1-9])?(?:\+00)?)?(?: BC)?$`)

// ofYears is a grammar for texts of any program. Those of distant years are only the same if they are printed alike.
func (g Grammar) ofYears() Grammar {
	return func(kind source.Kind, value []byte) string {
		reason := g(kind, value)
		const year = 4
		if reason != "" || digits(value) <= year && !bytes.HasSuffix(value, []byte("BC")) || distant.Match(value) {
			return reason
		}
		return notDate
	}
}
