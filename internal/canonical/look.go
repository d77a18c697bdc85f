package canonical

import (
	"bytes"

	"culvert/source"
)

// Most values are canonical as they are printed. What tells so here takes much less than the canonical text.

// lookOf returns what sees quickly whether a field of a column may differ, if something does.
func lookOf(c source.Column, printed source.Dialect) func(field []byte) bool {
	l, isMySQL := c.Logical, printed.Family() == source.MySQL
	switch {
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

// isDecimal reports whether a text is a decimal number in canonical form, with so many digits after its point. It does
// not look far at one that begins with -0.
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
