// Package grammar says which values a column keeps as they are.
//
// Databases read more than they print: PostgreSQL takes now, a zone by its name, and a number of days for a date,
// MySQL completes a date, SQLite turns '007' into 7, and all of them round numbers. What is read then is another value,
// and the database says nothing. So a value from another system must have a form of the type of its column, in which
// it means the same there; any other is refused. The forms are:
//
//   - whole numbers, and decimal numbers with an exponent at most, whose value a FLOAT or DOUBLE prints again, and with
//     no more digits after the point than the column has. Text in a column of numbers has neither white space nor
//     zeros or a plus sign before its digits: it may be an identifier
//   - dates of year, month and day; times of hours, minutes and seconds, with no more digits of a second than the
//     column has; both, with an offset from UTC where the column has one, and otherwise at most with that of UTC
//   - text that is not longer than the column, since databases cut off white space at its end
//
// Types that are not listed here are left to the database. They print what they read in another form, if any, but do
// not complete it, like UUIDs and JSON.
package grammar

import "culvert/source"

// Grammar returns why a column does not keep a value, or "". A nil Grammar stands for a column that leaves all values
// to its database. It is safe for concurrent use. Values that are NULL have no grammar.
type Grammar func(kind source.Kind, value []byte) string

// either joins grammars.
func either(all ...Grammar) Grammar {
	return func(kind source.Kind, value []byte) (reason string) {
		for _, g := range all {
			if reason = g(kind, value); reason == "" {
				break
			}
		}
		return reason
	}
}

// word is a grammar of certain words.
func word(words ...string) Grammar {
	return func(_ source.Kind, value []byte) string {
		for _, w := range words {
			if string(value) == w {
				return ""
			}
		}
		return "it is none of the words of the column"
	}
}
