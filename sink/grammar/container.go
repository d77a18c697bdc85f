package grammar

import (
	"bytes"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// ranges are the types of the bounds of ranges.
var ranges = map[string]string{
	"int4range": "integer", "int8range": "bigint", "numrange": "numeric", "daterange": "date",
	"tsrange": "timestamp without time zone", "tstzrange": "timestamp with time zone",
}

// The characters that separate the values of arrays, those of ranges and of their lists, and those of composite types.
const (
	ofArrays = "{},"
	ofRanges = "{}[](),"
	ofFields = ","
)

// container returns the grammar of an array, a range or a list of ranges of PostgreSQL: that of its values. It is nil
// for other types, and if the values have none.
func container(name string) Grammar {
	if element, is := strings.CutSuffix(name, "[]"); is {
		return Array(Part(element))
	}
	bounds, is := ranges[strings.Replace(name, "multirange", "range", 1)]
	if !is {
		return nil
	}
	return Range(Postgres(bounds))
}

// Part returns the grammar of a type of PostgreSQL whose values are parts of other values, as in an array.
func Part(name string) Grammar {
	if name == "bytea" {
		return matching(`the column takes binary data as \x and hexadecimal digits`, octets).or("")
	}
	return Postgres(name)
}

// Array returns the grammar of arrays of PostgreSQL whose values have the grammar g. It is nil if g is nil.
func Array(g Grammar) Grammar { return valuesOf(g, ofArrays) }

// Range returns the grammar of ranges of PostgreSQL, and of lists of them, whose bounds have the grammar g.
func Range(g Grammar) Grammar { return valuesOf(g, ofRanges) }

// Composite returns the grammar of a composite type of PostgreSQL from its fields'. It is nil if all of them are nil.
func Composite(fields []Grammar) Grammar {
	if !slices.ContainsFunc(fields, func(g Grammar) bool { return g != nil }) {
		return nil
	}
	return func(kind source.Kind, text []byte) string {
		text = bytes.TrimSpace(text)
		if kind == source.Bytes || len(text) < len("()") {
			return ""
		}
		text = text[1 : len(text)-1]
		var value []byte
		for _, g := range fields {
			var quoted bool
			value, text, quoted = nextValue(value[:0], text, ofFields)
			if g == nil || !quoted && len(value) == 0 { // which is NULL
				continue
			}
			if reason := g(source.Text, value); reason != "" {
				return reason
			}
		}
		return ""
	}
}

// octets are hexadecimal digits, or characters that stand for themselves.
var octets = lazyregexp.New(`^(?:\\x[0-9a-fA-F]*|[ -\[\]-~]*)$`)

// valuesOf is the grammar of a text of values between separators, each as it is or in quotes. Whether the text has the
// form of its type is for the database, which refuses any other.
func valuesOf(g Grammar, separators string) Grammar {
	if g == nil {
		return nil
	}
	return func(kind source.Kind, text []byte) string {
		if kind == source.Bytes {
			return ""
		}
		if dimensions := bytes.IndexByte(text, '='); separators == ofArrays && dimensions > 0 && text[0] == '[' {
			text = text[dimensions+1:]
		}
		var value []byte
		for len(text) > 0 {
			var quoted bool
			value, text, quoted = nextValue(value[:0], text, separators)
			if !quoted && isWord(value, separators) {
				continue
			}
			if reason := g(source.Text, value); reason != "" {
				return reason
			}
		}
		return ""
	}
}

// nextValue appends the value before the next separator without its quotes and escapes, and returns what follows.
func nextValue(dst, text []byte, separators string) (value, rest []byte, quoted bool) {
	within := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			dst, quoted = append(dst, text[i]), true
		case c == '"' && within && separators != ofArrays && i+1 < len(text) && text[i+1] == '"':
			i++
			dst = append(dst, '"')
		case c == '"':
			within, quoted = !within, true
		case !within && strings.IndexByte(separators, c) >= 0:
			return trimmed(dst, quoted || separators == ofFields), text[i+1:], quoted
		default:
			dst = append(dst, c)
		}
	}
	return trimmed(dst, quoted || separators == ofFields), nil, quoted
}

// trimmed returns a value without the white space around it, which PostgreSQL passes over unless it is quoted.
func trimmed(value []byte, quoted bool) []byte {
	if quoted {
		return value
	}
	return bytes.TrimSpace(value)
}

// isWord reports whether what stands without quotes is no value: NULL of an array, an empty range, or nothing, as
// between two brackets and for a range without a bound.
func isWord(value []byte, separators string) bool {
	word := map[string]string{ofArrays: "NULL", ofRanges: "empty"}[separators]
	return len(value) == 0 || strings.EqualFold(string(value), word)
}
