package mask

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"culvert/source"
)

// numberHash permutes the numbers of a column. Whole numbers stay in a tier of tiersOf. Others are permuted as the
// whole numbers of their digits, with the digits after the point that the type of the column has: equal numbers become
// equal, whether they were printed as 1.5 or 1.50.
type numberHash struct {
	numbers         *permuter
	positive        []uint64
	negative        []uint64
	scale           int    // digits after the point, or if below 0, zeros before it
	normal, changed []byte // of a number; their memory is kept
}

var errScale = errors.New("it has more digits than its type")

func newNumberHash(numbers *permuter, c source.Column) *numberHash {
	return &numberHash{
		numbers: numbers, positive: allTiers(c, false), negative: allTiers(c, true), scale: scaleOf(c),
	}
}

// scaleOf returns how many digits after the point all numbers of a column have.
func scaleOf(c source.Column) int {
	if c.Logical.Class == source.DecimalClass && c.Logical.Precision > 0 {
		return c.Logical.Scale
	}
	return 0
}

// append appends the masked number. The sign stays, and so does 0.
func (h *numberHash) append(dst, value []byte) ([]byte, error) {
	if isSpecial(value) {
		return append(dst, value...), nil
	}
	var d decimal
	if !d.parse(value) || d.exponent {
		return dst, errNotNumber
	}
	h.normal = appendNormal(h.normal[:0], value, h.scale)
	zeros := 0
	for ; zeros < -h.scale && (d.digits != 0 || d.large); zeros++ {
		last := len(h.normal) - 1
		if h.normal[last] != '0' || bytes.IndexByte(h.normal, '.') >= 0 {
			return dst, errScale
		}
		h.normal = h.normal[:last]
	}
	d.parse(h.normal)
	// A number with more digits than its type, or than any whole number, ends with another digit than 0, and so must
	// what becomes of it: otherwise it would be one with fewer digits.
	longer := d.scale > max(h.scale, 0)
	switch {
	case d.large:
		dst = h.appendLarge(dst, longer)
	case d.digits == 0:
		return append(dst, h.normal...), nil
	default:
		d.digits = h.permute(d.digits, d.negative)
		for longer && d.digits%10 == 0 {
			d.digits = h.permute(d.digits, d.negative)
		}
		dst = d.append(dst)
	}
	for range zeros {
		dst = append(dst, '0')
	}
	return dst, nil
}

// permute permutes the digits of a number that is not 0 inside of its tier.
func (h *numberHash) permute(digits uint64, negative bool) uint64 {
	tiers := h.positive
	if negative {
		tiers = h.negative
	}
	low := uint64(0)
	for _, tier := range tiers {
		if digits <= tier {
			return low + 1 + h.numbers.number(digits-low-1, tier-low)
		}
		low = tier
	}
	return digits // the last tier has them all
}

// appendLarge appends what becomes of a number with more digits than an integer has: one with as many.
func (h *numberHash) appendLarge(dst []byte, longer bool) []byte {
	h.changed = append(h.changed[:0], h.normal...)
	text := h.changed
	var symbols []symbol
	for d := (decimal{}); !d.large || longer && text[len(text)-1] == '0'; d.parse(text) {
		symbols = symbols[:0]
		for _, b := range text {
			switch {
			case isDigit(b) && len(symbols) > 0:
				symbols = append(symbols, symbol{uint32(b - '0'), 10})
			case isDigit(b) && b != '0':
				symbols = append(symbols, symbol{uint32(b - '1'), 9})
			}
		}
		h.numbers.tweak = [len(h.numbers.tweak)]byte{}
		h.numbers.symbols(symbols)
		next := 0
		for i, b := range text {
			switch {
			case isDigit(b) && next > 0:
				text[i] = '0' + byte(symbols[next].value)
				next++
			case isDigit(b) && b != '0':
				text[i] = '1' + byte(symbols[next].value)
				next++
			}
		}
	}
	return append(dst, text...)
}

// appendNormal appends a decimal number without a plus sign, and without zeros at the end of its fraction, except that
// it has as many digits after the point as the scale says.
func appendNormal(dst, number []byte, scale int) []byte {
	number = bytes.TrimPrefix(number, []byte("+"))
	whole, fraction, _ := bytes.Cut(number, []byte("."))
	if sign := bytes.TrimPrefix(whole, []byte("-")); len(sign) == 0 {
		dst = append(append(dst, whole...), '0')
	} else {
		dst = append(dst, whole...)
	}
	fraction = bytes.TrimRight(fraction, "0")
	if len(fraction) == 0 && scale <= 0 {
		return dst
	}
	dst = append(append(dst, '.'), fraction...)
	for range scale - len(fraction) {
		dst = append(dst, '0')
	}
	return dst
}

// powers are the ends of the tiers of all types, in which whole numbers stay. So a number becomes the same in a
// smallint and in a bigint, and fits both.
var powers = []uint64{1<<15 - 1, 1<<31 - 1, 1<<63 - 1, 1<<64 - 1}

// tiersOf returns the ranges in which the numbers of a type stay: up to each of these, and above the one before. Those
// of negative numbers go one further, as the integers of a computer do.
func tiersOf(c source.Column, negative bool) []uint64 {
	most := largest(c)
	if negative && c.Logical.Class == source.IntClass {
		most++
	}
	if isYear(c) {
		return []uint64{firstYear - 1, most}
	}
	var tiers []uint64
	for _, tier := range powers {
		if negative && tier != 1<<64-1 {
			tier++
		}
		if most <= tier {
			return append(tiers, most)
		}
		tiers = append(tiers, tier)
	}
	return tiers
}

// allTiers returns the tiers of a type, and above them those of numbers that are larger than their type, as SQLite has
// them.
func allTiers(c source.Column, negative bool) []uint64 {
	tiers := tiersOf(c, negative)
	for _, tier := range powers {
		if negative && tier != 1<<64-1 {
			tier++
		}
		if tier > tiers[len(tiers)-1] {
			tiers = append(tiers, tier)
		}
	}
	return tiers
}

// firstYear and lastYear are those of the type year of MySQL.
const (
	firstYear = 1901
	lastYear  = 2155
)

func isYear(c source.Column) bool {
	t := c.Logical
	return t.Class == source.IntClass && t.Bits == 16 && strings.HasPrefix(strings.ToLower(c.Type), "year")
}

// largest returns the largest integer of the type of a column, by its name in the database.
func largest(c source.Column) uint64 {
	name := strings.ToLower(c.Type)
	size := uint(64)
	switch c.Logical.Class {
	case source.IntClass:
		size = uint(c.Logical.Bits)
	case source.UnknownClass, source.JSONClass:
		return 1<<64 - 1
	default:
	}
	unsigned := strings.Contains(name, "unsigned")
	switch {
	case isYear(c):
		return lastYear
	case name == "oid":
		size, unsigned = 32, true
	case strings.HasPrefix(name, "bit("):
		if n, err := strconv.ParseUint(strings.Trim(name, "bit()"), 10, 7); err == nil && n <= 64 {
			size, unsigned = uint(n), true
		}
	case strings.Contains(name, "tinyint"):
		size = 8
	case strings.Contains(name, "mediumint"):
		size = 24
	case strings.Contains(name, "smallint"):
		size = 16
	case unsigned && size == 64 && strings.HasPrefix(strings.TrimPrefix(name, "unsigned "), "int"):
		size = 32
	case c.Logical.Class == source.DecimalClass && !strings.Contains(name, "int"):
		return largestDecimal(c.Logical.Precision)
	}
	if unsigned {
		return 1<<size - 1 // of 64 too, since a shift by 64 is 0
	}
	return 1<<(size-1) - 1
}

// largestDecimal returns the largest number of so many digits, or the largest that there is.
func largestDecimal(digits int) uint64 {
	if digits == 0 || digits > 19 {
		return 1<<64 - 1
	}
	n := uint64(1)
	for range digits {
		n *= 10
	}
	return n - 1
}

// agreeOnNumbers reports whether equal numbers of two columns stay equal.
func agreeOnNumbers(c, d source.Column) bool {
	one, other := tiersOf(c, false), tiersOf(d, false)
	n := min(len(one), len(other))
	return scaleOf(c) == scaleOf(d) && slices.Equal(one[:n], other[:n])
}
