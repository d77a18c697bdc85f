// Package convert changes values on their way into a database, since the program that wrote them had another form for
// them.
//
// A [Conversion] is a rule for the columns that a pattern matches. [Parse] reads one of these rules:
//
//	zero-date null          a date of MySQL whose month or day is zero becomes NULL
//	nul strip               text loses the characters NUL, which PostgreSQL does not have
//	nul error               text with a character NUL is refused
//	epoch seconds           a number of seconds since 1970 becomes a timestamp in UTC; also epoch millis, and epoch
//	                        julian, days as SQLite counts them
//	empty null              an empty text becomes NULL
//	trim                    text loses white space at both ends
//	cast integer            digits, with a sign or zeros before them, become a number; also cast decimal
//	cast boolean            words such as yes, t and 1 become true, and no, f and 0 false
//	cast timestamp          dates and times of ISO 8601, and such as 31.12.2026 10:00, become a timestamp in UTC
//	charset NAME            text and binary data in another encoding, such as latin1, become text in UTF-8; only a
//	                        [Parser] with encodings reads this rule
//	default VALUE           NULL becomes the value
//	default-sql EXPRESSION  NULL becomes what a database makes of an expression, such as now(), once for all rows;
//	                        only a [Parser] with a database reads this rule
//
// A pattern is that of package internal/namepattern: column, table.column or schema.table.column, with * and others.
// All rules that match a column are applied, in their order, so an empty text can become NULL, and NULL a value. NULL
// stays NULL under all rules but the defaults. Only charset changes binary data.
//
// A [Converter] has the rules for the columns of one table, and converts the batches of a [source.Source], or those
// that were decoded from a file:
//
//	conversion, err := convert.Parse("*.made", "epoch seconds")
//	…
//	converter := convert.New([]convert.Conversion{conversion}, []string{"public", "orders"}, []string{"id", "made"})
//	err = converter.Convert(&converted, &batch)
//
// What a rule cannot convert is a [*ValueError] with the row and the column.
package convert
