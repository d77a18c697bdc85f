// Package sqlite reads and fills tables of SQLite database files.
//
// A [Source] reads, and a [Sink] fills:
//
//	src, err := sqlite.OpenSource("todos.db")
//	…
//	defer src.Close()
//	rows, err := src.Table(ctx, "todos")
//
//	dst, err := sqlite.OpenSink("archive.db")
//	…
//	defer dst.Close()
//	table, err := dst.Table(ctx, "todos", sink.Filling{})
//
// Package export writes the tables of a Source to files, and package load copies them into a Sink.
//
// # Reading: values
//
// In SQLite the type belongs to the value, not to the column, and so does the [source.Kind]:
//
//	INTEGER  Number, all 64 bits
//	REAL     Number, the shortest text that reads back as the same value, with .0 if it is whole; infinity is 9.0e+999
//	TEXT     Text, byte for byte, even if it is not UTF-8 or contains NUL; a UTF-16 database returns UTF-8
//	BLOB     Bytes
//	NULL     Null
//
// SQLite has neither booleans nor JSON: a column declared BOOLEAN holds the integers 0 and 1, and one declared JSON
// holds unchecked text. They are returned as such. The declared type is in [source.Column].
//
// Virtual tables of FTS5, R*Tree and Geopoly can be read like others. The tables that hold their content, such as
// docs_content, are not in the list of tables. An FTS5 table whose content is another table is an index of that table,
// and part of its definition. One without content has no texts, so it cannot be read. Virtual tables of other modules,
// such as FTS4, cannot be read, but the tables that hold their content can. [Source.Omitted] names all virtual tables
// that are left out.
//
// # Reading: reading beside writers
//
// The file must exist, and is opened for reading only. A [Source] reads everything in one read transaction, which
// begins with the first rows: tables that are read one after the other fit together, whatever is written meanwhile. In
// WAL mode, writers do not wait for it, but the WAL grows until the Source is closed; in the other journal modes,
// writers cannot commit until then. A locked database is waited for, up to ten seconds. A database in WAL mode needs
// its -shm and -wal files. Missing ones are created next to it, in a directory that must be writable, and stay there.
//
// # Reading: several connections
//
// Of a file of 4 MiB or more, further connections begin with the first one, one for each other processor, and 16 at
// most. They share a table ([source.Divider]) in ranges of its rowid. A connection that has none left takes half of
// what another one has, wherever the rowids are. All show one state, which is proven: without a WAL by the lock that
// the first one holds meanwhile; in WAL mode by PRAGMA data_version, which says whether anybody has committed between
// the first and the last beginning. Then all begin again. If somebody writes all the time, or if another file has the
// name by then, the first one reads alone. It also reads alone what has no rowid, as views, virtual tables and tables
// WITHOUT ROWID, and what an index finds.
//
// # Reading: memory
//
// SQLite is translated to Go and has an address space of its own. Besides the [source.Batch], it holds a page cache of
// 2 MB and the largest value of the table. If several connections share a table, one of them reads all rows with a
// value of more than 256 KiB. A query that sorts more rows than fit in the cache uses an unnamed file in the system's
// directory for temporary files, encrypted with a random key that is only in memory.
//
// # The schema of a database
//
// [Source.Schema] returns what a file has beside its tables, in an order that works: views; FTS5 tables whose content
// is a view; the settings of FTS5 tables; triggers; user_version and application_id. All of it follows the rows, so no
// trigger fires for them. A view whose tables are gone is part of it, since SQLite looks at a view when it is read.
// Lacks has the virtual tables that cannot be made: those of modules that are not here, and FTS5 tables without
// content; and the encoding UTF-16. The page size, auto_vacuum, the journal mode and the statistics of ANALYZE are no
// part of it.
//
// [Sink.Restore] and Finish run these statements, and no others, in one transaction each. The table culvert_restore
// says what is done, and culvert_restore_ledger which rows are there; both are dropped at the end. The schema must come
// from a trusted source: triggers and views run what they say.
//
// # Filling: one transaction
//
// SQLite has one writer at a time, so there is one loader. It adds the rows with prepared statements, in one
// transaction, which keeps other writers out from the beginning. All rows are in the table after Commit, and none after
// anything else, also if the process or the machine stops: the next one that opens the file undoes what is incomplete.
// The journal mode stays as it is, and the file is synced as by the sqlite3 program; only the cache is larger.
//
// With [sink.Filling.EachPart] there is a transaction for each part, and another load of the table can come in between
// two of them. The one that then finds other parts in the ledger than its own fails with [sink.ErrBusy].
//
// Swap is Truncate, since nobody sees the table before it is committed.
//
// With [sink.Filling.Create], the table is made in the same transaction, by the statement that has made it in the other
// database, with its constraints. Its indexes follow after the rows, and then the last number that AUTOINCREMENT has
// given. A definition of another system is translated by package culvert/sink/dialect; the table can have another name
// then.
//
// # Filling: values
//
// The affinity of a column decides what becomes of a value, as for every INSERT (https://sqlite.org/datatype3.html).
// What an export of SQLite has written comes back as it was, as far as the text tells it, and the export names the
// columns with values whose type is lost ([source.Untold]):
//
//	Null    NULL
//	Text    TEXT
//	Number  INTEGER or REAL where SQLite prints these digits for it, or the column has a numeric affinity; else TEXT
//	Bool    the integers 1 and 0; t and f in a column of text
//	Bytes   BLOB
//	JSON    TEXT
//
// NaN is TEXT, since SQLite would make it NULL. Infinity is a REAL in a column with a numeric affinity. Triggers of the
// table fire.
//
// # Filling: keys
//
// The connection has the settings of the sqlite3 program. So foreign keys are not enforced: rows come in any order, and
// may refer to rows that are not there, as they may have done in their source; PRAGMA foreign_key_check finds those
// afterwards. No load changes or deletes rows of another table, whatever ON DELETE and ON UPDATE say, except by
// triggers. Truncate, Swap and Update are refused before the commit if rows of other tables would then refer to a row
// that is not there, and did not before; in a table WITHOUT ROWID, if there are more of them. The error is a
// [sink.RowError] of that table. With EachPart the rows are committed by then, and the same load run again is refused
// until the keys are right.
//
// [Sink.Group] replaces the rows of several tables in one transaction. Rows of tables outside the group must keep what
// they refer to; those of the group may refer to none.
//
// A row whose key exists is an error, even if the table says ON CONFLICT REPLACE or IGNORE.
//
// # Filling: virtual tables
//
// Create makes virtual tables of FTS5, R*Tree and Geopoly too, and fills them like others; the rows of FTS5 and Geopoly
// can have the column rowid. An FTS5 table whose content is the table that is made is made with its indexes, and then
// rebuilt from its rows.
package sqlite

import (
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite/internal/fill"
	"culvert/sqlite/internal/read"
)

// Source reads a database file in one read transaction. It is a [source.Source], [source.Selector], [source.Lister],
// [source.Omitter], [source.Describer], [source.Definer], [source.Tracer], [source.Schemer] and [source.Parter]. It
// must be used by one goroutine at a time.
type Source = read.DB

// Sink fills the tables of a database file. It is a [sink.Sink], a [sink.Grouper], a [sink.Restorer] and a
// [sink.Analyzer]. It must be used by one goroutine at a time.
type Sink = fill.DB

var (
	_ source.Source = (*Source)(nil)
	_ source.Tracer = (*Source)(nil)
	_ sink.Sink     = (*Sink)(nil)
)

// OpenSource opens a database file to read it. The error is [source.ErrUnavailable] if the file does not exist or is
// not a database. If damage is found while rows are read, the error is [source.ErrCorrupt].
func OpenSource(path string) (*Source, error) { return read.Open(path) }

// OpenSink opens a database file, which must exist, to fill its tables. The error is [source.ErrUnavailable] if it does
// not, or is not a database.
func OpenSink(path string) (*Sink, error) { return fill.Open(path) }

// CreateSink makes a database file to fill its tables. It opens a file that exists already.
func CreateSink(path string) (*Sink, error) { return fill.Create(path) }
