// Package grammar says which values a column keeps as they are.
//
// Databases read more than they print: PostgreSQL takes now, a zone by its name, and a number of days for a date,
// MySQL completes a date, SQLite turns '007' into 7, and all of them round numbers. What is read then is another value,
// and the database says nothing. So a value must have a form of the type of its column, in which it means the same
// there; any other is refused. The forms are:
//
//   - whole numbers, and decimal numbers with an exponent at most, whose value a FLOAT or DOUBLE prints again, and with
//     no more digits after the point than the column has. They have neither white space nor zeros or a plus sign before
//     their digits: those may be identifiers. A floating-point zero has a minus sign only where the column keeps it
//   - dates of year, month and day; times of hours, minutes and seconds, with no more digits of a second than the
//     column has; both, with an offset from UTC where the column has one, and otherwise at most with that of UTC;
//     intervals as PostgreSQL prints them, and of ISO 8601, with no smaller units than the column has
//   - amounts of money as lc_monetary = C prints them, or as numbers
//   - text that is not longer than the column, since databases cut off white space at its end; bytes that are not
//     shorter than a BINARY. A CHAR(n) keeps no spaces at the end: MySQL drops them, and PostgreSQL adds them up to n
//     characters. So text that ends in spaces is refused there. There are two exceptions: in PostgreSQL, text of
//     exactly n characters, which comes back unchanged; and text from a char(n) column of a database, where such spaces
//     mean nothing
//   - values of an ENUM or a SET as their list has them, and in its order
//   - arrays, ranges, domains and composite types of all these
//
// Types that are not listed here are left to the database. They print what they read in another form, if any, but do
// not complete it, like UUIDs and JSON.
//
// Most values need no such look, since the type that they had in their source says enough: an integer is one in every
// database. [Narrow] has the table of these types.
package grammar

import "culvert/source"

// Grammar returns why a column does not keep a value, or "". A nil Grammar stands for a column that leaves all values
// to its database. It is safe for concurrent use. Values that are NULL have no grammar.
type Grammar func(kind source.Kind, value []byte) string

// or is a grammar that also keeps certain words.
func (g Grammar) or(words ...string) Grammar {
	return func(kind source.Kind, value []byte) string {
		reason := g(kind, value)
		if reason == "" {
			return ""
		}
		for _, w := range words {
			if string(value) == w {
				return ""
			}
		}
		return reason
	}
}
