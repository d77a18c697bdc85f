// Package mask replaces values that must not leave a database as they are.
//
// A [Rule] says what becomes of the values of a column. [ParseRule] reads one of these:
//
//	drop                    the column is left out
//	null                    NULL
//	fixed TEXT              the text
//	keep first 4            the first 4 characters, and * for each of the others; also keep last 4
//	hash                    a value of the same type that tells nothing: whole numbers stay in the range of their type
//	email                   an address at example.com
//	name                    a first and a last name; also name first, name last
//	address                 a street and a city; also address street, city, state and country
//	digits                  as text, with right check digits of payment cards and IBANs; also phone
//	text                    text of the same length and shape: letters, upper or lower case, digits
//	date year               the first day of the year, at midnight; also date month
//	date shift 30           another day, 30 days before or after it at most; the time of day stays
//	number round 100        the next multiple of 100 in the direction of zero
//	number noise 10%        a number that differs by 10 % at most
//	json $.a: email, $.b[*].c: text
//	                        a JSON document with other values at the paths
//	program NAME            what one of the [Programs] answers
//
// The words date and number may be left out, as in "year" and "round 100".
//
// A masked value depends on the value, the rule and the [Key], and on nothing else: neither on the name of the column,
// nor on its table, database or system. So joins and foreign keys hold, also between an integer and a bigint, and the
// next run makes the same values. With another key all values differ. NULL stays NULL, an empty text stays empty, and
// the number 0 stays 0, except under null. Of what a program answers, only the type is checked.
//
// The rules hash, email, text and digits give different values for different ones ([Rule.IsInjective]), so unique
// columns stay unique. Texts that differ only in case are different ones, and 1.5 and 1.50 are the same number.
// Integers, dates, digits and short texts are permuted: see permute.go for the algorithm and its source. UUIDs and
// hashes of texts have at least 80 bits of HMAC-SHA-256, and emails 80 bits of AES-CMAC, of which no two meet in
// practice. The other rules cannot mask a unique column.
//
// A [Policy] has the key and the rules of each table. [Policy.Check] finds rules that do not fit their columns before
// a row is read. A [Masker] masks the batches of a [source.Source]:
//
//	masker, err := policy.Masker("public.customers", rows.Columns())
//	…
//	err = masker.Mask(&masked, &batch)
//
// Masks do not hide everything: equal values stay equal, so how often a value occurs can be seen, and a rare one can
// tell who it is. SECURITY.md says more.
package mask
