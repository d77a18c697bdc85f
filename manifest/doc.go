// Package manifest describes the list of files and facts of an export of several tables, or of one in parts, and reads
// and writes it. An export writes it; whatever reads an export begins with it.
//
//	m, err := manifest.Read(file)
//	for _, table := range m.Tables {
//		fmt.Println(table.Name, table.Rows, table.File())
//	}
//
// The manifest is the last file of an export: if it exists, every table has been tried. It is named [EncryptedName] and
// encrypted like the other files, or [Name] if they are not encrypted. [FileNames] and [PartFile] name the other files.
//
// # Format
//
// A manifest is a JSON object with these fields:
//
//	version      number   3; see below for others
//	requires     array    of strings: features without which a reader would misread the manifest
//	tool         string   the program that wrote it
//	run          string   tells an export by several workers from others to the same place; absent for other exports
//	begun        string   when the tables were looked up, in UTC by the clock of the exporting machine (RFC 3339)
//	ended        string   when the last table had been read
//	system       string   the database system and its version (source.Description)
//	database     string   its name, or its file
//	snapshot     string   the state that the tables show; absent if they are not read in one state. Tables of MySQL
//	                      and MariaDB without snapshots, such as those of MyISAM, are as they were when they were read
//	                      and have the snapshot none
//	position     string   the position in the log of the system, such as an LSN; absent if unknown
//	consistent   boolean  whether all tables show the state of the snapshot
//	format       string   the extension of the format: csv, jsonl, txt, parquet, arrow or arrows
//	csv          string   how the CSV is written, such as delimiter=;,null=NULL, in the words of format.ParseDialect;
//	                      absent for CSV as PostgreSQL writes it. A manifest that has it requires csv
//	compression  string   zstd, gzip or none
//	encrypted    boolean  whether the files are age files
//	lossy        string   how values that do not fit the type of their column were written: null or string; absent if
//	                      such a value would have ended the export. It requires nothing: the files and the sums are
//	                      those of the values that were written, so no reader takes them for others
//	omitted      array    of strings, for people: what else there is beside the tables, if all were exported, such as
//	                      the view "sales" (source.Omitter). The last may say how much more there is. Absent if the
//	                      tables were named
//	mask_key     string   the fingerprint of the key by which values were masked, 16 hexadecimal digits; absent if
//	                      none were
//	schema       object   what makes the whole database again beside its rows; see Schema. Absent if tables were named
//	author       string   the Ed25519 key that has signed the manifest, 32 bytes in base64; absent if it is not signed
//	tables       array    of objects, in the order of the export
//	signature    string   64 bytes in base64, if there is an author; see Signature
//
// Each table has these fields:
//
//	name          string   as the caller wrote it
//	snapshot      string   the state that it shows, if it is not the one of the manifest; none if no snapshot holds it
//	where         string   the condition that its rows meet, if only some were exported
//	columns       array    of objects: name; type, as the database calls it; and logical, which says what the values
//	                       are, in the words of source.Type. It is absent if nothing is known of them, and before
//	                       version 3. A reader that does not know the words of a newer one takes them, and the
//	                       canonical sums of the table, for absent
//	rows          number   the number of rows, confirmed by the database if it does so
//	text_bytes    number   the size of the text, that is, of the decrypted and decompressed files, with one header
//	masks         array    of objects, column and rule: values that are not those of the database (package mask)
//	file_bytes    number   the size of the files
//	header_bytes  number   the size of the text before the first row, with which each part begins
//	sum           string   of the text of the rows; see Sum
//	canonical     string   of their values, in whatever text; see Sum. Absent if it is not known
//	readers       number   connections that have read it
//	parts         array    of objects, in the order of the rows; one, if the table is in one file; none, if only the
//	                       definition of the table was exported
//	error         string   why there is no file; then the object has only the name, and numbers that are 0
//	definition    object   what makes the table again; see Definition. Absent if the source does not know it
//
// Each part has these fields:
//
//	file        string   the name of its file. A part of a table that was exported in parts is in the directory of the
//	                     table, as in orders/000001.csv.zst.age. It has the rows of no other table
//	range       object   the rows of the table that it has (source.Range); absent for all rows
//	rows        number   the number of rows
//	text_bytes  number   the size of the text, with its header; of columns, of the file before it is encrypted
//	file_bytes  number   the size of the file
//	sha256      string   of the file as it is stored, in 64 hexadecimal digits
//	sum         string   of the text of the rows
//	canonical   string   of their values
//	untold      array    of strings: the columns of SQLite with values whose type, such as that of an integer in a
//	                     column without a type, the text does not tell (source.Untold); it is lost
//	unfit       array    of objects: column, and values, how many of its values did not fit; see lossy. The sums are
//	                     of the values that were written
//
// Empty strings and arrays are left out. In names that are not UTF-8, U+FFFD replaces invalid bytes. A manifest is at
// most 128 MiB. No two files have the same name, even if letter case does not count. The figures of the parts of a
// table, without their headers except the first, add up to those of the table.
//
// # Sum
//
// The sum is a checksum of rows. It does not depend on their order or the compression, and the sums of the parts of a
// table add up to the sum of the table. The sum of a row is the XXH3-128 of its line of CSV, as package format writes
// it, with the line feed at its end; the header does not count. It does not depend on the format, either, except that
// of an export of JSON Lines it is the sum of the values that come back: of JSON without the white space that
// [culvert/format.JSONL] leaves out, and of text with what --invalid-utf8 replace has written. The sum of several rows
// is the sum of theirs modulo 2^128, printed as 32 hexadecimal digits. That takes about a hundredth of the processor
// time of an export of CSV; for the other formats, the line is made as well.
//
// The canonical sum is the same for the values of the rows, in whatever text their database prints them: it is the sum
// of the lines that PostgreSQL would print, in UTC, for columns of the logical types. So 1.5 and 1.500 are the same
// decimal(10,3), and 2026-01-02 03:00:00 and 2026-01-02 04:00:00+01 the same instant. In JSON, which is as in jsonb,
// numbers have no zeros at the end of their fraction. Values whose text does not read as the logical type, values
// without one, and JSON of more than 1 MiB are taken as they are printed. With it, rows of different systems can be
// compared. Of most tables of PostgreSQL, it is the sum of the text.
//
// No SQL computes these sums: PostgreSQL, MySQL, MariaDB and SQLite do not have XXH3. So to compare, a program reads
// the rows in a snapshot and adds up their sums, as [culvert/export.Directory.Compare] does: the work of an export
// without files. The lines that PostgreSQL prints for COPY … TO STDOUT (FORMAT csv) have the same sum, if a line feed
// within a value is not taken for the end of a line.
//
// The sum detects accidents: if XXH3 behaves like a random function, two different multisets of rows have the same sum
// with a probability of 2^-128 if no row occurs twice, and never more than n · 2^-128 for n rows: if the counts of all
// rows that differ do so by multiples of 2^k, it is 2^k · 2^-128. It does not detect an attacker, who can choose rows
// for any sum. The SHA-256 of a file does, if the manifest is known to be genuine.
//
// # Definition
//
// The definition of a table is what its database says about it ([culvert/source.Definition]), in the transaction that
// reads the rows. It describes the whole table, whatever columns and rows were exported; of a view, it has only the
// columns. It has these fields:
//
//	dialect      string  of its SQL: postgresql, mysql, mariadb or sqlite
//	schema       string  of the table, or its database in MySQL and MariaDB; absent in SQLite
//	name         string  of the table
//	columns      array   of objects, in the order of the table, also of generated columns
//	constraints  array   of objects
//	indexes      array   of objects, without the indexes of constraints
//	sequences    array   of objects
//	comment      string  on the table
//	create       string  the statement that makes the table; absent in PostgreSQL
//	hidden       boolean the name without the schema finds another table or none, by the search path of PostgreSQL
//
// Each column has these fields:
//
//	name        string   of the column
//	type        string   as the database calls it
//	not_null    boolean  whether it refuses NULL
//	default     string   an expression
//	collation   string   if it is not the one of the type, or of the table in MySQL and MariaDB
//	comment     string   on the column
//	identity    string   always or by default, if the database numbers the rows in it
//	generated   string   stored or virtual, if an expression computes it
//	expression  string   that expression; absent in SQLite, whose create has it
//
// Each constraint has these fields:
//
//	name        string   of the constraint
//	kind        string   primary key, unique, check, foreign key or exclude
//	columns     array    of strings, if it is a key of whole columns
//	definition  string   what follows ALTER TABLE … ADD CONSTRAINT name, or only ADD without a name; absent if only
//	                     create has it
//
// Each index has these fields:
//
//	name        string   of the index
//	unique      boolean  whether it refuses equal keys
//	columns     array    of strings, if it has only whole columns
//	definition  string   the statement that makes it, or in MySQL and MariaDB what follows ALTER TABLE … ADD
//
// Each sequence has these fields:
//
//	column   string  that owns it
//	name     string  as SQL, with its schema
//	type     string  of its numbers
//	options  string  as SQL
//	last     number  the last number that was given when the table was defined
//
// These are left out: rights, row security, triggers, rules, and whatever the definition names, such as types and
// functions, which the schema may have, and other tables; partitions, parents, tablespaces and storage parameters,
// unless create has them.
//
// A definition has at most 256 KiB, and all of a manifest have at most 16 MiB together, without white space. What is
// larger is left out, and if there is too much together, the largest.
//
// Whoever makes a table refuses a dialect or a kind of constraint that it does not know. It ignores other fields that
// it does not know, so what later writers add there is only what a table can do without.
//
// # Schema
//
// The schema of a whole database ([culvert/source.Schema]), or what tables need beside their definitions, is in a file
// of its own, named [SchemaName] with the extensions of the compression and the encryption. The object schema of the
// manifest has these fields:
//
//	dialect     string   of its SQL, as in a definition
//	by          string   the program that has printed it, such as pg_dump 17.2; absent if it was the exporting program
//	tables      boolean  whether it makes the tables; otherwise, their definitions do
//	needs       boolean  whether it makes only what the tables need, each thing if it does not exist
//	own_rows    boolean  whether each table has only its own rows, although others inherit from it (source.Separator)
//	staged      array    of objects with the strings table and into: rows of the first table, such as
//	                     pg_catalog.pg_largeobject, are loaded into the second one, from which a statement after the
//	                     rows takes them
//	lacks       array    of strings, for people: what the database has and the schema has not
//	file        string   the name of its file
//	before      number   the number of statements that come before the rows
//	after       number   the number of statements that come after them
//	for_tables  number   the number of statements of what single tables need, beside those of the database
//	text_bytes  number   the size of the text
//	file_bytes  number   the size of the file
//	sha256      string   of the file
//
// The text is a JSON object with the array statements. Each is an object with the string sql, and the boolean after,
// which is absent for statements that come before the rows. They are in order. If the schema has needs, each also has
// the string object, which names what is made, such as "type public.mood", and the array for, which names the tables
// that need it; it is absent if all do. So have the statements for_tables, which come first, and are not run if the
// whole database is made.
//
// # Signature
//
// The author of an export signs its manifest, which has the SHA-256 of every other file. The signature is Ed25519ph
// (RFC 8032) with the context "culvert/v1 manifest" over the text before the comma that precedes the last field. That
// field must be the signature, written like this:
//
//	,
//	  "signature": "…"
//	}
//
// A line feed ends the text. It proves that the holder of the key has made this manifest, whoever could read and write
// the files since then. It does not prove when, nor that there is no newer one. [Read] verifies the signature, and
// [Manifest.Author] returns the key.
//
// # Versions
//
// A reader ignores fields that it does not know, so that later writers can add some. It refuses a manifest with a
// repeated field, or with a name of a field that has other characters than a to z, digits and underscores, since
// parsers of JSON differ about those; with a feature in requires that it does not know; and of a version that it does
// not know. A writer adds a feature for whatever changes the meaning of known fields, such as columns with other values
// than in the database.
//
// Version 2 has no canonical sums. Version 1 has no requires, consistent, header_bytes, sums and parts either: each
// table has the fields file and sha256 itself. It has no unknown fields, and the others in the order in which they are
// written. [Read] returns both as manifests of version 3 without what they have not.
package manifest
