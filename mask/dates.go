package mask

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"

	"culvert/source"
)

// day is a day of the Gregorian calendar, as databases print it, and what follows it in a text.
type day struct {
	year        int
	month, date int
	digits      int    // of the year
	rest        []byte // such as a time of day
}

// parseDay reads a text that begins with a day.
func parseDay(text []byte) (d day, is bool) {
	for d.digits < len(text) && isDigit(text[d.digits]) {
		if d.digits == 7 {
			return d, false
		}
		d.year = d.year*10 + int(text[d.digits]-'0')
		d.digits++
	}
	rest := text[d.digits:]
	if d.digits < 4 || len(rest) < 6 || rest[0] != '-' || rest[3] != '-' ||
		!isDigit(rest[1]) || !isDigit(rest[2]) || !isDigit(rest[4]) || !isDigit(rest[5]) {
		return d, false
	}
	d.month, d.date = int(rest[1]-'0')*10+int(rest[2]-'0'), int(rest[4]-'0')*10+int(rest[5]-'0')
	d.rest = rest[6:]
	return d, d.month <= 12 && d.date <= 31 && isClock(d.rest)
}

// isClock reports whether what follows a day is only a time of day, a zone as a number or UTC, and an era: anything
// else may tell what must not leave.
func isClock(rest []byte) bool {
	rest = bytes.TrimSuffix(rest, []byte(" BC"))
	if len(rest) > 0 && (rest[0] == ' ' || rest[0] == 'T') && !bytes.HasPrefix(rest, []byte(" UTC")) {
		rest = twoDigits(rest[1:])
		for range 2 {
			rest = afterColon(rest)
		}
		if len(rest) > 0 && (rest[0] == '.' || rest[0] == ',') {
			const second = 9 // most digits after it
			n := 1
			for n < len(rest) && n <= second && isDigit(rest[n]) {
				n++
			}
			rest = rest[n:]
		}
	}
	rest = bytes.TrimPrefix(rest, []byte(" "))
	if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
		rest = twoDigits(rest[1:])
		for range 2 {
			if rest = afterColon(rest); len(rest) > 0 && isDigit(rest[0]) {
				rest = twoDigits(rest)
			}
		}
		rest = bytes.TrimPrefix(rest, []byte(" "))
	}
	return len(rest) == 0 || string(rest) == "Z" || string(rest) == "UTC"
}

// notClock stands for a text that is no time of day.
var notClock = []byte("!")

// twoDigits returns what follows two digits.
func twoDigits(text []byte) []byte {
	if len(text) < 2 || !isDigit(text[0]) || !isDigit(text[1]) {
		return notClock
	}
	return text[2:]
}

// afterColon returns what follows a colon and two digits, if there is a colon.
func afterColon(text []byte) []byte {
	if len(text) == 0 || text[0] != ':' {
		return text
	}
	return twoDigits(text[1:])
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// append appends the day, without what follows it.
func (d *day) append(dst []byte) []byte {
	dst = appendDigits(dst, d.year, d.digits)
	dst = appendDigits(append(dst, '-'), d.month, 2)
	return appendDigits(append(dst, '-'), d.date, 2)
}

// appendDigits appends a number with so many digits at least.
func appendDigits(dst []byte, n, digits int) []byte {
	for power, i := 10, 1; i < digits; i++ {
		if n < power {
			for range digits - i {
				dst = append(dst, '0')
			}
			break
		}
		power *= 10
	}
	return appendInt(dst, uint64(n))
}

const secondsOfDay = 24 * 60 * 60

// number counts days from 1970.
func (d *day) number() int {
	return int(time.Date(d.year, time.Month(d.month), d.date, 0, 0, 0, 0, time.UTC).Unix() / secondsOfDay)
}

// set is the inverse of number.
func (d *day) set(number int) {
	year, month, date := time.Unix(int64(number)*secondsOfDay, 0).UTC().Date()
	d.year, d.month, d.date = year, int(month), date
}

// isNoDay reports whether a text stands for no day: it tells nothing, and stays.
func isNoDay(text []byte) bool {
	return len(text) == 0 || string(text) == "infinity" || string(text) == "-infinity" ||
		bytes.HasPrefix(text, []byte("0000-00-00")) && len(bytes.Trim(text[10:], " :.0")) == 0
}

// firstDay and lastDay are the usual ones: a day of these is permuted among them, and others among the others.
var (
	firstDay = (&day{year: 1900, month: 1, date: 1}).number()
	lastDay  = (&day{year: 2099, month: 12, date: 31}).number()
	maxDay   = (&day{year: 9999, month: 12, date: 31}).number()
	minDay   = (&day{year: 1, month: 1, date: 1}).number()
)

type days struct{ numbers *permuter }

func newDays(numbers *permuter) days { return days{numbers} }

// permute masks a day by another one.
func (p days) permute(dst, value []byte) ([]byte, error) {
	if isNoDay(value) {
		return append(dst, value...), nil
	}
	d, is := parseDay(value)
	if !is || len(d.rest) > 0 || d.year == 0 || d.year > 9999 || d.month == 0 || d.date == 0 {
		return dst, errNotDate
	}
	n := d.number()
	if firstDay <= n && n <= lastDay {
		n = firstDay + int(p.numbers.number(uint64(n-firstDay), uint64(lastDay-firstDay+1)))
	} else {
		for {
			n = minDay + int(p.numbers.number(uint64(n-minDay), uint64(maxDay-minDay+1)))
			if n < firstDay || n > lastDay {
				break
			}
		}
	}
	d.set(n)
	return d.append(dst), nil
}

// newDate makes the day less exact, or another one.
func (r Rule) newDate(k *Key, c source.Column) masking {
	shift := newCMAC(k, "shift")
	withFraction := printsFraction(c.Type)
	return each(func(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
		if kind != source.Text {
			return kind, dst, errNotDate
		}
		if isNoDay(value) {
			return kind, append(dst, value...), nil
		}
		d, is := parseDay(value)
		if !is {
			return kind, dst, errNotDate
		}
		switch r.part {
		case "year":
			d.month, d.date = min(d.month, 1), min(d.date, 1)
		case "month":
			d.date = min(d.date, 1)
		default:
			if d.month == 0 || d.date == 0 || len(d.rest) > 0 && hasBC(d.rest) {
				return kind, dst, errNotDate
			}
			random := binary.LittleEndian.Uint64(shift.of(value[:len(value)-len(d.rest)])) >> 16
			d.move(int(random%uint64(2*r.number)) - int(r.number))
			return kind, append(d.append(dst), d.rest...), nil
		}
		return kind, appendMidnight(d.append(dst), d.rest, withFraction), nil
	})
}

// move changes the day by so many days, or by one more if the number is not negative, so that it is another one. It
// goes in the other direction if there are no such days.
func (d *day) move(days int) {
	if days >= 0 {
		days++
	}
	before := d.number()
	if n := before + days; n < minDay || n > max(maxDay, before) {
		days = -days
	}
	d.set(max(before+days, minDay))
}

// hasBC reports whether what follows a day says that it was before the year 1.
func hasBC(rest []byte) bool { return len(rest) >= 3 && string(rest[len(rest)-3:]) == " BC" }

// printsFraction reports whether a database prints the digits after the second of a type if they are zeros: MySQL and
// MariaDB do, whose names of types end after their number.
func printsFraction(of string) bool {
	of = strings.ToLower(of)
	return strings.HasSuffix(of, ")") && (strings.HasPrefix(of, "datetime(") || strings.HasPrefix(of, "timestamp("))
}

// appendMidnight appends what follows a day, with a time of day of midnight: a zone and an era stay.
func appendMidnight(dst, rest []byte, withFraction bool) []byte {
	if len(rest) < 2 || rest[0] != ' ' && rest[0] != 'T' || !isDigit(rest[1]) {
		return append(dst, rest...)
	}
	dst, rest = append(dst, rest[0]), rest[1:]
	fraction := false
	for len(rest) > 0 && (isDigit(rest[0]) || rest[0] == ':' || rest[0] == '.') {
		fraction = fraction || rest[0] == '.'
		switch {
		case fraction && !withFraction:
		case rest[0] == ':', rest[0] == '.':
			dst = append(dst, rest[0])
		default:
			dst = append(dst, '0')
		}
		rest = rest[1:]
	}
	return append(dst, rest...)
}
