package canonical

import "encoding/hex"

// What follows reads texts in the usual form as the numbers and bytes that binary formats have in their place.

const (
	second = int64(1e6) // in microseconds
	day    = 24 * 60 * 60 * second
)

// ParseDay reads a day such as 2026-01-02, from the year 1 to 9999, and returns the days since 1970 and what follows.
func ParseDay(text []byte) (days int64, rest []byte, ok bool) {
	const size = len("2006-01-02")
	if len(text) < size || text[4] != '-' || text[7] != '-' {
		return 0, text, false
	}
	century, year := pair(text), pair(text[2:])
	month, d := pair(text[5:]), pair(text[8:])
	if century|year|month|d < 0 {
		return 0, text, false
	}
	if year += 100 * century; year < 1 || month < 1 || month > 12 || d < 1 || d > DaysIn(year, month) {
		return 0, text, false
	}
	return daysSince1970(year, month, d), text[size:], true
}

// daysSince1970 counts days as Howard Hinnant's days_from_civil does (chrono-Compatible Low-Level Date Algorithms): in
// years that begin in March, so that the leap day is the last.
func daysSince1970(year, month, d int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era, ofEra := year/400, year%400
	ofYear := (153*(month-3)+2)/5 + d - 1
	return int64(era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468)
}

// DayOf returns the day with a number, which counts from 1970, in the proleptic Gregorian calendar: the inverse. The
// year before 1 is 0. It divides by multiplying, within an era of 400 years, as Cassio Neri and Lorenz Schneider
// describe it (Euclidean affine functions and their application to calendar algorithms).
func DayOf(number int64) (year, month, day int) {
	const ofEra = 146097
	number += 719468
	era, n := number/ofEra, number%ofEra
	if n < 0 {
		era, n = era-1, n+ofEra
	}
	quarters := uint32(4*n + 3)
	century := quarters / ofEra
	product := 2939745 * uint64(quarters%ofEra|3) // 2 to the power 32, divided by a quarter of the days of four years
	ofYear := uint32(product) / 2939745 / 4
	months := 2141*ofYear + 197913
	year, month, day = 400*int(era)+int(100*century)+int(product>>32), int(months>>16), int(months&0xffff/2141)+1
	if ofYear >= 306 { // January and February
		return year + 1, month - 12, day
	}
	return year, month, day
}

// pair returns the number of two digits, or -1.
func pair(text []byte) int {
	tens, ones := text[0]-'0', text[1]-'0'
	if tens > 9 || ones > 9 {
		return -1
	}
	return int(tens)*10 + int(ones)
}

// ParseClock reads a time of day, such as 12:34:56.789, and returns its microseconds and what follows.
func ParseClock(text []byte) (v int64, rest []byte, ok bool) {
	const size = len("15:04:05")
	if len(text) < size || text[2] != ':' || text[5] != ':' {
		return 0, text, false
	}
	hour, minute, sec := pair(text), pair(text[3:]), pair(text[6:])
	if hour|minute|sec < 0 || hour > 23 || minute > 59 || sec > 59 {
		return 0, text, false
	}
	v = int64(hour*3600+minute*60+sec) * second
	text = text[size:]
	if len(text) == 0 || text[0] != '.' {
		return v, text, true
	}
	unit, i := second/10, 1
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		if unit == 0 && text[i] != '0' {
			return 0, text, false // more digits than microseconds have
		}
		v += int64(text[i]-'0') * unit
		unit /= 10
	}
	return v, text[i:], i > 1
}

// ParseMoment reads a day and a time of day, and returns the microseconds since 1970 and what follows.
func ParseMoment(text []byte) (v int64, rest []byte, ok bool) {
	days, rest, ok := ParseDay(text)
	if !ok || len(rest) == 0 || rest[0] != ' ' && rest[0] != 'T' {
		return 0, text, false
	}
	v, rest, ok = ParseClock(rest[1:])
	return days*day + v, rest, ok
}

// ParseZone reads what follows a moment: nothing or Z for UTC, or an offset such as +05:30:15. It returns the
// microseconds that are to be subtracted.
func ParseZone(text []byte) (east int64, ok bool) {
	if len(text) == 0 || len(text) == 1 && text[0] == 'Z' {
		return 0, true
	}
	if text[0] != '+' && text[0] != '-' || len(text)%3 != 0 || len(text) > len("+05:30:15") {
		return 0, false
	}
	unit := 3600 * second
	for i := 1; i < len(text); i += 3 {
		n := pair(text[i:])
		if n < 0 || n > 59 || i > 1 && text[i-1] != ':' {
			return 0, false
		}
		east += int64(n) * unit
		unit /= 60
	}
	if text[0] == '-' {
		east = -east
	}
	return east, true
}

// AppendUUID appends 32 hexadecimal digits with hyphens at the usual places.
func AppendUUID(dst, text []byte) ([]byte, bool) {
	const size = 36
	if len(text) != size || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return dst, false
	}
	begin := len(dst)
	for _, digits := range [][]byte{text[:8], text[9:13], text[14:18], text[19:23], text[24:]} {
		var err error
		if dst, err = hex.AppendDecode(dst, digits); err != nil {
			return dst[:begin], false
		}
	}
	return dst, true
}
