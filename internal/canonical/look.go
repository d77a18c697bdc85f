package canonical

import (
	"bytes"

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
	case (l.Class == source.TimeClass || l.Class == source.TimestampClass) && isMySQL:
		return endsInZero // the rest is as it must be
	}
	return nil
}

// quickOf returns a function that appends the canonical text of a field, for a column all of whose fields differ from
// it: a TIMESTAMP of MySQL is in UTC, and does not say so. The function returns false for rare fields.
func quickOf(c source.Column, printed source.Dialect) func(dst, field []byte) ([]byte, bool) {
	if printed.Family() == source.MySQL && c.Logical.Class == source.InstantClass {
		return appendMoment
	}
	return nil
}

// appendMoment appends a moment such as 2026-01-02 03:04:05.120, which is in UTC.
func appendMoment(dst, text []byte) ([]byte, bool) {
	const form = "0000-00-00 00:00:00"
	if len(text) < len(form) {
		return dst, false
	}
	for i, c := range text[:len(form)] {
		if form[i] == '0' && !isDigit(c) || form[i] != '0' && form[i] != c {
			return dst, false
		}
	}
	fraction := text[len(form):]
	if n := len(fraction); n > 0 && (n < 2 || n > 1+maxSecond || fraction[0] != '.' || digits(fraction[1:]) < n-1) {
		return dst, false
	}
	const month, day, minute, second = 5, 8, 14, 17
	if text[minute] > '5' || text[second] > '5' {
		return dst, false
	}
	if everyMonth := text[day] < '2' && text[month] == '0'; !everyMonth && !isDay(text) {
		return dst, false
	}
	if len(fraction) > 0 {
		text = bytes.TrimSuffix(bytes.TrimRight(text, "0"), []byte{'.'})
	}
	return append(append(dst, text...), "+00"...), true
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
	rest := bytes.TrimPrefix(text, []byte{'-'})
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
