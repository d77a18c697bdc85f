package canonical

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"culvert/source"
)

// Most values are canonical as they are printed. To find that out takes much less time than to make the canonical text.

// lookOf returns a function that finds out quickly whether a field of a column may differ, or nil if there is none.
func lookOf(c source.Column, printed source.Dialect) func(field []byte) bool {
	l, isMySQL := c.Logical, printed.Family() == source.MySQL
	switch {
	case l.List:
		return nil
	case hasZeros(c, printed) && l.Class == source.DecimalClass:
		return endsInZero
	case hasZeros(c, printed):
		return mayHaveZeros
	case l.Class == source.FloatClass && l.Bits == doubles.bits && isMySQL:
		return hasExponent // printed by source.Batch.AppendFloat
	case l.Class == source.FloatClass:
		return floatsOf(l.Bits).isOther
	case l.Class == source.IntClass:
		return isOtherInt
	case l.Class == source.DecimalClass && l.Precision > 0 && l.Scale > 0 && isMySQL:
		return func(field []byte) bool { return isOtherDecimal(field, l.Scale) }
	case l.Class == source.DecimalClass && l.Precision > 0:
		scale := max(0, l.Scale)
		return func(field []byte) bool { return !isDecimal(field, scale) }
	case l.Class == source.DecimalClass:
		return func(field []byte) bool { return !isDecimal(field, noScale) }
	case l.Class == source.CharClass:
		return func(field []byte) bool { return isOtherChar(field, l.Length) }
	case (l.Class == source.TimeClass || l.Class == source.TimestampClass) && isMySQL:
		return endsInZero // the rest is as it must be
	case l.Class == source.TimestampClass:
		return isOtherMoment
	case l.Class == source.DateClass:
		return isOtherDay
	}
	return nil
}

// quickOf returns what brings fields of a column to their canonical text, if many of them differ from it: a moment that
// does not say its zone, such as a TIMESTAMP of MySQL, is in UTC. It returns false for rare fields.
func quickOf(c source.Column) func(j *jsonInLine, line []byte, at, end int) bool {
	switch {
	case c.Logical.List:
		return nil
	case c.Logical.Class == source.InstantClass:
		return (*jsonInLine).moment
	case c.Logical.Class == source.TimestampClass:
		return (*jsonInLine).localMoment
	case c.Logical.Class == source.BoolClass:
		return (*jsonInLine).digit
	case c.Logical.Class == source.FloatClass:
		return floatsOf(c.Logical.Bits).whole
	case c.Logical.Class == source.DecimalClass && c.Logical.Precision > 0 && c.Logical.Scale > 0:
		return padded(c.Logical.Scale)
	}
	return nil
}

// digit takes the boolean that a digit stands for.
func (j *jsonInLine) digit(line []byte, at, end int) bool {
	if end != at+1 || line[at] != '0' && line[at] != '1' {
		return false
	}
	j.copy(line, at, end)
	j.out = append(j.out, "ft"[line[at]-'0'])
	return true
}

// moment takes a moment such as 2026-01-02 03:04:05.120, which is in UTC.
func (j *jsonInLine) moment(line []byte, at, end int) bool {
	text := line[at:end]
	if !IsUsualMoment(text) {
		return false
	}
	j.copy(line, at+len(withoutZerosOf(text)), end)
	j.out = append(j.out, "+00"...)
	return true
}

// localMoment takes such a moment of a column without a zone, which ends in a zero.
func (j *jsonInLine) localMoment(line []byte, at, end int) bool {
	text := line[at:end]
	if !IsUsualMoment(text) {
		return false
	}
	j.copy(line, at+len(withoutZerosOf(text)), end)
	return true
}

// withoutZerosOf returns a moment without the zeros at the end of its fraction.
func withoutZerosOf(text []byte) []byte {
	if len(text) > len(usualMoment) && text[len(text)-1] == '0' {
		n := len(text) - 1
		for text[n-1] == '0' && n > len(usualMoment) {
			n--
		}
		if text[n-1] == '.' {
			n--
		}
		return text[:n]
	}
	return text
}

const usualMoment = "0000-00-00 00:00:00"

// IsUsualMoment reports whether a text is a day and a time of day as in 2026-01-02 03:04:05.120. The month and the day
// may be 0, and the hour may be more than 23. It looks at eight bytes at a time.
func IsUsualMoment(text []byte) bool {
	n := len(text)
	if n < len(usualMoment) || !dayForm.begins(text) || !hourForm.begins(text[8:]) || !timeForm.begins(text[11:]) ||
		!isUsualDay(text) {
		return false
	}
	if n == len(usualMoment) {
		return true
	}
	fraction := n - len(usualMoment) - 1
	return text[len(usualMoment)] == '.' && fraction > 0 && fraction <= maxSecond &&
		digitForm.ends(text, fraction)
}

// form is eight bytes of a text: digits up to its own, where it has digits, and else its bytes.
type form struct{ bytes, most uint64 }

// formOf returns a form. Most is what the difference of each byte may have added without setting its highest bit.
func formOf(text string) (f form) {
	for i := range word {
		c, most := text[i], uint64(0x7f)
		if isDigit(c) {
			most -= uint64(c - '0')
			c = '0'
		}
		f.bytes |= uint64(c) << (8 * i)
		f.most |= most << (8 * i)
	}
	return f
}

// word is how many bytes are looked at at once.
const word = 8

var (
	dayForm   = formOf("9999-19-")
	hourForm  = formOf("39 99:59") // with the day of the month before it
	timeForm  = formOf("99:59:59")
	digitForm = formOf("99999999")
)

// begins reports whether a text of at least eight bytes begins with the form.
func (f *form) begins(text []byte) bool { return f.fits(binary.LittleEndian.Uint64(text), 0) }

// ends reports whether a text of at least eight bytes ends with the last n bytes of the form.
func (f *form) ends(text []byte, n int) bool {
	return f.fits(binary.LittleEndian.Uint64(text[len(text)-word:]), word-n)
}

// fits compares eight bytes with the form. The first ones may be any.
func (f *form) fits(w uint64, first int) bool {
	differing := (w ^ f.bytes) >> (word * first) << (word * first)
	return (differing|(differing+f.most))&highs == 0
}

// isUsualDay reports whether there is a day with a text such as 2024-02-29, which has digits where it must.
func isUsualDay(text []byte) bool {
	const month, day = 5, 8
	if month := 10*int(text[month]-'0') + int(text[month+1]-'0'); month > 12 {
		return false
	}
	return text[day] < '2' || text[day] == '2' && text[day+1] < '9' || isDay(text)
}

// isOtherMoment reports whether a time without a zone is not as it is usually printed, or ends in a zero.
func isOtherMoment(text []byte) bool {
	return !IsUsualMoment(text) || len(text) > len(usualMoment) && text[len(text)-1] == '0'
}

// isOtherDay does the same for a day.
func isOtherDay(text []byte) bool {
	return len(text) != len("0000-00-00") || !dayForm.begins(text) || !isDay(text)
}

// isOtherChar reports whether a text of n bytes may be shorter than n characters, or has others than they are.
func isOtherChar(text []byte, n int) bool {
	if len(text) != n || text[0] == '"' {
		return true
	}
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// hasZeros reports whether only zeros at the end of a fraction may differ: of numeric without bounds, and of numbers in
// jsonb.
func hasZeros(c source.Column, printed source.Dialect) bool {
	l := c.Logical
	return printed == source.PostgreSQL && (l.Class == source.JSONClass && c.Type == "jsonb" ||
		l.Class == source.DecimalClass && l.Precision == 0)
}

// mayHaveZeros reports whether numeric or jsonb, as a field or in a line of CSV, may have a number with zeros at the
// end of its fraction. Most points are in strings, and what may follow a number does not follow them.
func mayHaveZeros(text []byte) bool {
	for {
		point := bytes.IndexByte(text, '.')
		if point < 0 {
			return false
		}
		text = text[point+1:]
		n := digits(text)
		if n > 0 && text[n-1] == '0' && (n == len(text) || bytes.IndexByte([]byte(",}]\n"), text[n]) >= 0) {
			return true
		}
		text = text[n:]
	}
}

// hasExponent reports whether a number has an exponent. Otherwise its shortest digits are the same everywhere.
func hasExponent(number []byte) bool { return bytes.IndexByte(number, 'e') >= 0 }

func (f *floats) isOther(text []byte) bool { return !f.isPlain(text) }

func isOtherInt(text []byte) bool { return len(text) > maxInt || !isInt(text) }

// isOtherDecimal reports whether a decimal number of MySQL, which has digits and may have a point, has zeros before it,
// a sign at zero, or not so many digits after its point.
func isOtherDecimal(number []byte, scale int) bool {
	point := len(number) - 1 - scale
	return point < 1 || number[point] != '.' || number[0] == '-' && number[1] == '0' || number[0] == '0' && point > 1
}

// endsInZero reports whether a number or a time has a fraction with a zero at its end.
func endsInZero(text []byte) bool { return text[len(text)-1] == '0' && bytes.IndexByte(text, '.') >= 0 }

// withoutZeros returns a decimal number without the zeros at the end of its fraction, if nothing else of it is not
// canonical.
func withoutZeros(text []byte) (canonical []byte, ok bool) {
	if !endsInZero(text) {
		return nil, false
	}
	canonical = bytes.TrimSuffix(bytes.TrimRight(text, "0"), []byte{'.'})
	return canonical, isDecimal(canonical, noScale)
}

// isDecimal reports whether a text is a decimal number in canonical form, with scale digits after its point. It reports
// false for all numbers that begin with -0.
func isDecimal(text []byte, scale int) bool {
	rest := withoutSign(text)
	whole := digits(rest)
	if whole == 0 || whole > maxWhole || rest[0] == '0' && (whole > 1 || len(rest) < len(text)) {
		return false
	}
	if whole == len(rest) {
		return scale <= 0
	}
	fraction := rest[whole+1:]
	n := len(fraction)
	if rest[whole] != '.' || n == 0 || n > maxFraction || digits(fraction) < n {
		return false
	}
	return n == scale || scale == noScale && fraction[n-1] != '0'
}
