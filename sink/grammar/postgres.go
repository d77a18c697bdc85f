package grammar

import (
	"strconv"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// modified finds the modifiers of a type, and what follows them.
var modified = lazyregexp.New(`^([^(]*?) ?\( ?(-?[0-9]+)(?: ?, ?(-?[0-9]+))? ?\)(.*)$`)

// cut returns the name of a type, in lower case, without its modifiers.
func cut(name string) (base string, modifiers []int) {
	name = strings.ToLower(strings.TrimSpace(name))
	parts := modified.FindStringSubmatch(name)
	if parts == nil {
		return name, nil
	}
	for _, digits := range parts[2:4] {
		if n, err := strconv.Atoi(digits); err == nil {
			modifiers = append(modifiers, n)
		}
	}
	return parts[1] + parts[4], modifiers
}

// first returns the first modifier, or a default.
func first(modifiers []int, or int) int {
	if len(modifiers) == 0 {
		return or
	}
	return modifiers[0]
}

// hours are those of an interval, with minutes and seconds.
const hours = `[+-]?[0-9]+:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6}0*)?)?`

var (
	infinite  = word("infinity", "-infinity")
	special   = word("NaN", "Infinity", "-Infinity")
	truth     = word("t", "f", "true", "false", "1", "0")
	network   = lazyregexp.New(`^(?:[0-9]+(?:\.[0-9]+){3}|[0-9a-fA-F.]*:[0-9a-fA-F:.]*)(?:/[0-9]+)?$`)
	bits      = lazyregexp.New(`^[01]+$`)
	intervals = lazyregexp.New(`^(?:[+-]?[0-9]+ (?:year|mon|day)s?(?: |$))*(?:` + hours + `)?$`)
	durations = lazyregexp.New(`^P[-0-9.YMWDTHS]+$`)
)

const (
	yearsOfDate   = 7
	yearsOfMoment = 6
	maxNameSize   = 63 // without a NUL, in bytes
)

// matching is the grammar of an expression.
func matching(reason string, expressions ...*lazyregexp.Regexp) Grammar {
	return func(kind source.Kind, value []byte) string {
		for _, e := range expressions {
			if kind != source.Bytes && len(value) > 0 && e.Match(value) {
				return ""
			}
		}
		return reason
	}
}

// Postgres returns the grammar of a type of PostgreSQL, as format_type names it.
func Postgres(name string) Grammar {
	base, modifiers := cut(name)
	const places = 6 // of a second
	zoned := strings.HasSuffix(base, " with time zone")
	switch strings.TrimSuffix(strings.TrimSuffix(base, " with time zone"), " without time zone") {
	case "smallint", "integer", "bigint", "oid":
		return whole
	case "numeric":
		if len(modifiers) == 0 {
			return either(special, exact(-1))
		}
		if len(modifiers) == 1 {
			modifiers = append(modifiers, 0)
		}
		if modifiers[1] < 0 {
			return nil // it rounds before the point
		}
		return either(special, exact(modifiers[1]))
	case "real":
		return either(special, binary(32))
	case "double precision":
		return either(special, binary(64))
	case "money":
		return exact(2)
	case "boolean":
		return func(kind source.Kind, value []byte) string {
			if isBool(kind) || truth(kind, value) == "" {
				return ""
			}
			return "the column takes true and false"
		}
	case "date":
		return either(infinite, moment{date: true, years: yearsOfDate, era: true}.grammar())
	case "time":
		return moment{clock: true, midnight: true, offset: zoned, places: first(modifiers, places)}.grammar()
	case "timestamp":
		m := moment{date: true, clock: true, offset: zoned, places: first(modifiers, places)}
		m.years, m.era = yearsOfMoment, true
		return either(infinite, m.grammar())
	case "interval":
		return matching("the column takes intervals such as 1 day 10:00:00", intervals, durations)
	case "character varying", "character":
		if len(modifiers) > 0 {
			return text(modifiers[0])
		}
	case "name":
		return bytesOf(maxNameSize)
	case `"char"`:
		return bytesOf(1)
	case "bit", "bit varying":
		return either(word(""), matching("the column takes digits 0 and 1", bits))
	case "inet", "cidr":
		return matching("the column takes whole addresses", network)
	}
	return nil
}
