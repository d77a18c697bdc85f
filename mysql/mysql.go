// Package mysql reads and fills tables of MySQL, version 5.7 or newer, and MariaDB, version 10.3 or newer. It is tested
// with MariaDB 10.11.
//
// A [Source] reads, and a [Sink] fills:
//
//	src, err := mysql.OpenSource(ctx, "mysql://reader@db.example.com/shop")
//	…
//	defer src.Close()
//	rows, err := src.Table(ctx, "orders")
//
//	dst, err := mysql.OpenSink(ctx, "mysql://writer@other.example.com/archive")
//	…
//	defer dst.Close()
//	table, err := dst.Table(ctx, "orders", sink.Filling{})
//
// Package export writes the tables of a Source to files, and package load copies them into a Sink.
//
// # Reading: one view of the database
//
// A [Source] reads everything in one read-only transaction with a consistent snapshot. [OpenSource] takes the snapshot,
// so tables that are read one after the other fit together, whatever others write meanwhile. This holds for storage
// engines that have snapshots, such as InnoDB; tables of MyISAM, Aria and MEMORY show their current rows, and those of
// FEDERATED the rows of another server: see [Source.OutsideSnapshot]. Tables of every engine can be read by one Source,
// in any order. Tables have the names and columns that they have when they are read. A table that was truncated or
// rewritten after the snapshot returns an error. While the transaction lasts, the server keeps old row versions, and a
// statement that redefines a table which was read has to wait.
//
// The Source sets a savepoint before each statement that may be one of others, and releases it afterwards, which shows
// whether the transaction still exists. If it does not, the connection is closed, and all later calls fail. These end a
// transaction: ANALYZE TABLE and CHECK TABLE, a CALL that commits, the rollback of a deadlock, which a locking read can
// meet, and some statements that the server refuses because they write, such as TRUNCATE. If they return rows, the rows
// end in an error. A statement that returns no rows, or several results, is also an error and closes the connection.
// Use a separate connection for statements that end a transaction.
//
// Once a table of Aria was read, MariaDB sets no savepoints in the transaction. From then on, [Source.Query] takes only
// what EXPLAIN does, such as SELECT, since a CALL could end the transaction and begin another one unnoticed.
//
// # Reading: several connections
//
// No session of these systems can join a snapshot that exists. [SourceConfig] opens several connections that begin
// their transactions while nobody can commit, so all show one state. All are connected before the server is locked, so
// the lock lasts for one statement. It is BACKUP STAGE in MariaDB from 10.4 on, and FLUSH TABLES WITH READ LOCK
// elsewhere; both need the right RELOAD. MySQL from 8.0 on is asked for LOCK INSTANCE FOR BACKUP before, which waits
// for changes of tables, and needs BACKUP_ADMIN; without that right it is left out. A connection of its own holds the
// lock. If the lock is lost, or is not granted in time, one connection reads alone. [Source.Beside] returns the others.
//
// The rows of a table implement [source.Divider]: the connections share a large table in ranges of its primary key, of
// the types that [Source.Parts] cuts by. The server estimates where a range of a key that begins with an integer should
// end, with a look at a few pages of the index. For other keys, and where many rows have the same first integer, it
// walks along the index. Every row is in one range, whatever the estimates.
//
// # Reading: values
//
// The settings of the session make values independent of the server, the database and the user: times are in UTC, and
// text is UTF-8, whatever the character set of its column. A text of a table or view that would come back from UTF-8 as
// another one is a [source.TextError], such as what UTF-8 has no character for, the second of two codes for one
// character, or half a surrogate pair, which MariaDB keeps in all character sets of Unicode but utf16.
//
// In the result of a query, the server replaces what has no character by "?" or U+FFFD. If a column has such a mark,
// and a character set that may lack characters, the query is run once more. If a text was replaced, the rows end with a
// TextError. A query with such a mark that cannot stand in a WITH, as with SQL_CALC_FOUND_ROWS, fails too. MySQL 5.7
// has no WITH, so a replacement in a query stays unnoticed. Nor is it found if the query itself turns a text into
// another character set, such as by a UNION, if it returns other rows the second time, or if the server cannot explain
// it, such as a CALL. A query that selects the bytes, as in CAST(name AS BINARY), has all of them.
//
// Rows use the binary protocol, which keeps floating-point numbers exact; as text, the server rounds a FLOAT to six
// digits. The kinds are:
//
//	integers, DECIMAL, FLOAT, DOUBLE  Number; also TINYINT(1), that is, BOOL, since it can hold more than two values
//	YEAR                              Number of four digits
//	BIT                               Number, the bits as an unsigned integer
//	JSON                              JSON
//	BINARY, VARBINARY, BLOB           Bytes
//	geometries                        Bytes, as the server stores them: an SRID of four bytes, then WKB
//	CHAR, VARCHAR, TEXT, ENUM, SET    Text, whatever the collation
//	DATE, DATETIME, TIMESTAMP, TIME   Text, as the server prints it, including zero dates and hours above 24
//
// MariaDB stores JSON as text with a check that it is valid JSON. The check identifies the JSON columns of a table. In
// views and queries, such columns are Text. The leading zeros of ZEROFILL are left out.
//
// A table returns its columns in order, including invisible ones. If the user may not read all of them, Table fails.
// Generated columns are left out, as by mysqldump, since rows with them could not be loaded back. A query or a
// selection may name them.
//
// CSV tells all values apart, but LOAD DATA does not: it reads NULL and the empty string as the same, and needs UNHEX
// for binary data and CAST for BIT. In JSON Lines, JSON of several lines becomes one line.
//
// # Reading: the end of the rows
//
// The rows of a base table are counted and compared with the server's count. Rows of views and queries are complete
// when the server says that they have ended, since its protocol sends no count for them.
//
// Closing rows before their end ends the statement by a KILL QUERY on a second connection, after which the Source can
// be used again. If the context of the rows ends, the connection is killed too, and the Source returns
// [source.ErrUnavailable]. The second connection goes to the network address that the first one reached. If that is
// another server, such as behind a load balancer, nothing is killed: the connection is closed, and its server notices
// when it sends the next row.
//
// # Reading: memory
//
// A connection holds a buffer of 256 KiB, and one row at a time. The driver allocates once for each value, and twice
// for a time, since it returns values as interfaces.
//
// # The schema of a database
//
// [Source.Schema] returns what the opened database has beside its tables, as SHOW CREATE prints it: the sequences of
// MariaDB and defaults that draw from them; functions, procedures and packages; views; triggers; events. What is run
// with another SQL mode, character set, collation or time zone has a SET SESSION before it. DEFINER is left out unless
// the rights go along, so who runs the statements is the definer. MariaDB prints the name of the database in some views
// and defaults. It is left out too, but not in the texts of functions, procedures, triggers and events, which are as
// their authors have written them. These texts are not changed, but have other bytes if they have more than ASCII and
// were written in another character set than UTF-8. What the user may not see is in Lacks; of triggers and events, the
// server then does not even say whether there are any. A view whose tables are gone is in the schema, and fails where
// it is run. Users and their rights are not part of a database.
//
// [Sink.Restore] makes the sequences, and Finish the rest, each statement by itself, over one connection. It takes only
// such statements, none of which makes anything in another database. A statement that fails is tried again as long as
// others succeed. The server commits each, so the table culvert_restore says which are begun and done, and
// culvert_restore_ledger which rows are there; both are dropped at the end. For a function that was made with another
// collation of the database, the database gets this one for a moment. Triggers do not fire for the rows, and events are
// enabled as they were. The schema must come from a trusted source: what it makes runs with the rights of the user, or
// of others.
//
// # Filling: one transaction
//
// By default, a table is filled in one transaction, which has one connection. All rows are in the table after Commit,
// and none after anything else, also if the server or this process stops: the server undoes what is incomplete. So the
// table must have a storage engine with transactions, such as InnoDB. Others are refused, and a table that is made has
// InnoDB in place of them.
//
// The server commits when a table is made, truncated or renamed. Therefore Truncate deletes the rows, in the
// transaction, and Swap is Truncate, since nobody sees the table before it is committed. A table is not cleared if a
// foreign key would delete or change rows of another table too, or if it forbids to delete rows to which others refer.
// MariaDB shows foreign keys only to users who may change the tables that have them.
//
// The server checks foreign keys row by row. If a table refers to itself, its rows are replaced, or put into it while
// it is empty, without these checks, unless it has triggers. The sink then checks the keys of the table, and those that
// refer to it, before each commit. For that, the user must be allowed to read the other tables. With EachPart, the rows
// of a part go into a temporary table first, if the user may make one: so rows of earlier parts are not looked at
// again, except with Ignore and Update.
//
// # Filling: several connections
//
// Several connections can fill an empty table, or one that is made, each in a transaction of its own. The snapshot of
// each shows no rows of others, but others can add some. When all loaders are closed, the transactions are committed
// one after the other, within milliseconds; for this time, others can see a part of the rows. If a commit fails, the
// rows that were committed are deleted again, with what the ledger has of them, and a table that was made is dropped.
// They are not deleted if the table has other rows too, such as those of a connection that was lost without a word on
// its commit: the error says that they remain. If the server or this process ends at this moment, the rows of some
// connections remain.
//
// With EachPart, any number of connections load parts, and commit each with its row in the ledger. What becomes of
// existing rows is committed before the first part.
//
// One connection fills a table that has rows, unless parts are committed; one whose rows can be in conflict with
// others, or refer to each other; one with triggers, a spatial index, or no primary key, where all rows would go to
// one place; and one with AUTO_INCREMENT, unless innodb_autoinc_lock_mode is 2: the server lets one statement at a time
// add rows there. If two connections add rows with equal unique keys, one waits for the other, and fails when the lock
// timeout ends. If the server accepts no more connections, those that there are load.
//
// # Filling: groups and ledgers
//
// [Sink.Group] replaces the rows of several tables in one transaction, also of those that refer to each other in a
// circle. For the rows of such tables it turns the checks of the server off, and proves each of their keys, and each by
// which tables outside the group refer to them, by a query before the commit. If one of them has triggers, the circle
// is refused, or, if it refers only to itself, the checks stay on. A group does not make tables.
//
// A ledger is made before the transaction. Its name may have a database, which is made too. A filling with Create makes
// the table before the transaction too, with its indexes, and drops it again if the rows are not committed. If this
// process is killed meanwhile, the table remains, without rows, and the next load fills it. It is made in the opened
// database, whatever the schema of its definition, and its foreign keys are added by Finish. A definition of another
// system is translated by package culvert/sink/dialect.
//
// A named lock of the server (GET_LOCK) keeps other loads of the table out. If one connection fills it, a table that
// must be empty is locked against rows of others until the commit.
//
// If the connection is lost during a commit, the ledger says over another connection whether the commit has happened.
// Without a ledger, the error is [sink.ErrUnconfirmed].
//
// # Filling: rows
//
// The rows are sent as text with LOAD DATA LOCAL INFILE, from memory: 2 MiB at a time, or less by each of several
// connections. If the server does not allow that (local_infile), they are sent with INSERT, many in a statement. The
// session is strict: a value that the server would change, cut off or round is a [*sink.RowError], except that FLOAT
// and DOUBLE have the digits that they have.
// With LOAD DATA LOCAL the server only warns of that, and of keys that exist; each warning is an error here. Values are
// written for the type of their column:
//
//	BINARY, BLOB, geometries   the bytes, of text too
//	BIT                        a number, or as many digits 0 and 1 as the column has bits
//	CHAR, VARCHAR, TEXT        text; booleans as t and f, and bytes as \x and hexadecimal digits
//	DATETIME, TIMESTAMP, TIME  without the ending +00 or Z, since the session is in UTC
//	ENUM                       its values; the empty text, if that is none of them, as the error value that it is
//	others                     as they are; booleans as 1 and 0
//
// Text must be valid UTF-8. The server turns it into the character set of the column. As for every INSERT, triggers
// fire, foreign keys are checked, and NULL in a column with AUTO_INCREMENT is the next number; 0 is 0. NULL is refused
// in a TIMESTAMP that is NOT NULL, for which the server would store the time of the load.
//
// # Filling: conflicts
//
// With Ignore and Update, rows go into a temporary table, and from there by INSERT … ON DUPLICATE KEY UPDATE. IGNORE,
// which would also change values, and REPLACE, which would delete rows, are not used. Triggers for updates fire for
// rows that exist, even with Ignore. Update fails if a row is in conflict by a unique index that is not the key.
package mysql

import (
	"context"

	"culvert/mysql/internal/fill"
	"culvert/mysql/internal/read"
	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/source"
)

// Source reads a database in one read-only transaction. It is a [source.Source], [source.Selector], [source.Lister],
// [source.Omitter], [source.Preparer], [source.Describer], [source.Definer], [source.Schemer], [source.Parter],
// [source.Grouped] and [source.PartialSnapshotter]. It must be used by one goroutine at a time.
type Source = read.DB

// Sink fills the tables of a database. It is a [sink.Sink], [sink.Cloner], [sink.Grouper], [sink.Restorer] and
// [sink.Analyzer]. It must be used by one goroutine at a time.
type Sink = fill.DB

// ConnectError is the error of a server that cannot be reached, or that refuses a user, a password or a database. It
// wraps [source.ErrUnavailable]. Its text has no password.
type ConnectError = wire.ConnectError

var (
	_ source.Source = (*Source)(nil)
	_ sink.Sink     = (*Sink)(nil)
)

// SourceConfig says how a database is opened to be read. The zero value is what [OpenSource] does.
type SourceConfig = read.Config

// OpenSource connects to a database and begins the transaction in which it is read.
//
// The address is a URL, mysql://USER@HOST:PORT/DATABASE or mariadb://…. All its parts are optional, and it may be "".
// Missing parts come from the environment (MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT and MYSQL_PWD) or, with
// precedence, from the group [client] of the option file ~/.my.cnf. As for the programs of MySQL, no host, or localhost
// without a port, means the Unix socket if it exists.
//
// The URL may have these options, named as in option files, such as ?ssl-mode=REQUIRED: ssl-mode, ssl-ca, ssl-cert,
// ssl-key, socket, protocol (TCP or SOCKET), connect-timeout (in seconds, until the server has accepted the user) and
// defaults-file, an option file to read in place of ~/.my.cnf. Without ssl-mode, TLS is used if the server has it, and
// the server is not verified; with ssl-ca, the mode is VERIFY_CA.
//
// An option file may also have tls-version, and MariaDB's ssl and ssl-verify-server-cert. The strictest of its TLS
// options counts, whatever their order, unless the URL has ssl-mode. TLS options that are not supported, such as
// ssl-crl, are errors; other unknown options are ignored.
//
// The error is [source.ErrUnavailable] if the server cannot be reached, or refuses the user, the password or the
// database. No error contains a password.
func OpenSource(ctx context.Context, url string) (*Source, error) { return read.Open(ctx, url) }

// OpenSink connects to a database to fill its tables. The address and the errors are those of [OpenSource].
func OpenSink(ctx context.Context, url string) (*Sink, error) { return fill.Open(ctx, url) }

// Files returns the files that [OpenSource] and [OpenSink] read for an address: the option file, and the files of
// certificates and keys. It is for callers that must not overwrite them. If OpenSource would fail, some may be missing.
func Files(url string) []string { return wire.Files(url) }

// ErrorNumber returns the number of the server's error that err wraps
// (https://dev.mysql.com/doc/mysql-errors/en/server-error-reference.html), or 0 if there is none.
func ErrorNumber(err error) int { return wire.ErrorNumber(err) }
