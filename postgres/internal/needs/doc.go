// Package needs finds what tables need that is not part of them, and prints it as statements: schemas, extensions,
// types, collations, sequences that no column owns, and functions of defaults, checks, generated columns and indexes.
//
// The server knows what depends on what (pg_depend). [ClosureSQL] follows that from tables, and [Schema] brings the
// objects that it finds into an order in which they can be made. [ExistingSQL] prints objects of the same names in
// another database in the same way, so that equal ones can be told from others.
package needs
