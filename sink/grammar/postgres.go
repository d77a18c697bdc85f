package grammar

import (
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/internal/typename"
	"culvert/source"
)

// first returns the first modifier, or a default.
func first(modifiers []int, or int) int {
	if len(modifiers) == 0 {
		return or
	}
	return modifiers[0]
}

var (
	infinite = []string{"infinity", "-infinity"}
	special  = []string{"NaN", "Infinity", "-Infinity"}
	network  = lazyregexp.New(`^(?:[0-9]+(?:\.[0-9]+){3}|[0-9a-fA-F.]*:[0-9a-fA-F:.]*)(?:/[0-9]+)?$`)
	bits     = lazyregexp.New(`^[01]+$`)
)

const (
	yearsOfDate   = 7
	yearsOfMoment = 6
	placesOfTime  = 6  // of a second
	maxNameSize   = 63 // without a NUL, in bytes
)

// matching is the grammar of an expression.
func matching(reason string, expression *lazyregexp.Regexp) Grammar {
	return func(kind source.Kind, value []byte) string {
		if kind != source.Bytes && len(value) > 0 && expression.Match(value) {
			return ""
		}
		return reason
	}
}

// Postgres returns the grammar of a type of PostgreSQL, as format_type names it.
func Postgres(name string) Grammar {
	if separated := container(name); separated != nil || strings.HasSuffix(name, "[]") {
		return separated
	}
	base, modifiers := typename.Cut(name)
	zoned := strings.HasSuffix(base, " with time zone")
	plain := strings.TrimSuffix(strings.TrimSuffix(base, " with time zone"), " without time zone")
	word, unit, _ := strings.Cut(plain, " ")
	if word == "interval" {
		return interval(unit, first(modifiers, placesOfTime)).or(infinite...)
	}
	switch plain {
	case "smallint", "integer", "bigint":
		return whole
	case "oid":
		return natural
	case "numeric":
		return exact(scale(modifiers)).or(special...)
	case "real":
		return binary(32).or(special...)
	case "double precision":
		return binary(64).or(special...)
	case "money":
		return money
	case "boolean":
		return truth
	case "date":
		return moment{date: true, years: yearsOfDate, era: true}.grammar().or(infinite...)
	case "time":
		return moment{clock: true, midnight: true, offset: zoned, places: first(modifiers, placesOfTime)}.grammar()
	case "timestamp":
		m := moment{date: true, clock: true, offset: zoned, places: first(modifiers, placesOfTime)}
		m.years, m.era = yearsOfMoment, true
		return m.grammar().or(infinite...)
	case "character varying":
		if len(modifiers) > 0 {
			return text(modifiers[0])
		}
	case "character":
		return filledText(first(modifiers, 1))
	case "name":
		return bytesOf(maxNameSize)
	case `"char"`:
		return singleByte
	case "bit", "bit varying":
		return matching("the column takes digits 0 and 1", bits).or("")
	case "inet", "cidr":
		return matching("the column takes whole addresses", network)
	}
	return nil
}

// scale returns the places of numeric, which has any number of them without modifiers, and none with one modifier.
func scale(modifiers []int) int {
	switch len(modifiers) {
	case 0:
		return anyPlaces
	case 1:
		return 0
	}
	return modifiers[1]
}

// truths are the words of a boolean in PostgreSQL, in any letter case. It also takes the beginnings of some.
var truths = []string{"t", "f", "true", "false", "1", "0", "y", "n", "yes", "no", "on", "off"}

func truth(kind source.Kind, value []byte) string {
	if isBool(kind) {
		return ""
	}
	for _, word := range truths {
		if len(value) == len(word) && strings.EqualFold(string(value), word) {
			return ""
		}
	}
	return "the column takes true and false"
}

// decimals are numbers with two places.
var decimals = exact(placesOfMoney)

const placesOfMoney = 2

// money is the grammar of amounts: numbers, and what PostgreSQL prints if lc_monetary is C, as it is in the sessions
// that read and load. What it prints otherwise may mean another amount.
func money(kind source.Kind, value []byte) string {
	digits := value
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || digits[0] != '$' {
		if decimals(kind, value) == "" {
			return ""
		}
		return notAmount
	}
	r := reader{text: digits, at: 1}
	const group = 3
	if _, ok := r.number(1, len(digits)); !ok {
		return notAmount
	}
	for few := r.at <= 1+group; few && r.oneOf(","); { // groups follow at most three digits
		if _, ok := r.number(group, group); !ok {
			return notAmount
		}
	}
	if r.oneOf(".") {
		if _, ok := r.number(placesOfMoney, placesOfMoney); !ok {
			return notAmount
		}
	}
	if !r.ended() {
		return notAmount
	}
	return ""
}

const notAmount = "the column takes amounts such as 1000.50, or $1,000.50 as lc_monetary = C prints them"
