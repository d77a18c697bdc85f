// Package postgres reads and fills tables of PostgreSQL, version 12 or newer.
//
// A [Source] reads, and a [Sink] fills:
//
//	src, err := postgres.OpenSource(ctx, "postgres://reader@db.example.com/shop")
//	…
//	defer src.Close()
//	rows, err := src.Table(ctx, "orders")
//
//	dst, err := postgres.OpenSink(ctx, "postgres://writer@other.example.com/archive")
//	…
//	defer dst.Close()
//	table, err := dst.Table(ctx, "orders", sink.Filling{})
//
// Package export writes the tables of a Source to files, and package load copies them into a Sink.
//
// # Reading: one view of the database
//
// A [Source] reads everything in one read-only transaction, which begins in [OpenSource]: tables that are read one
// after the other fit together, and nothing in the database can be changed. The transaction works behind a connection
// pooler in transaction mode. While it lasts, the server keeps old row versions.
//
// PostgreSQL shows a table that was truncated or rewritten after the transaction began as empty, and finds tables by
// their current names, and partitions and other children in their current places. If a table, or one that a view reads,
// was changed in such a way, Table fails, or the rows end in an error. Such a change is not detected in a query, in a
// condition, in what functions read, or of the children that inherit from a table behind a view. What foreign tables
// return is not of the snapshot: [Source.OutsideSnapshot] names them, and the views that read them, or may read them by
// functions.
//
// # Reading: several connections
//
// The rows of a table implement [source.Divider]: from PostgreSQL 14 on, several connections read it together. The
// first exports its snapshot, and the others begin their transactions with it, so all see the same state. Each takes
// one range of pages after the other, by the ctid of the rows, and the server confirms the number of rows of each
// range. The statements name the table itself: children and partitions are read with their parent, with the rights on
// the parent, and columns are matched by name.
//
// Before the first row, all connections lock the table, its children and their indexes, so that these do not change
// while they are read. A connection that does not get the locks within a second, such as when a change of the table
// waits for the first connection, does not take part.
//
// The size of a range includes large values that are stored outside the rows (TOAST). If a table has few pages and
// nearly all of it is such values, its pages are divided by the lines of their rows.
//
// A selection without a limit is divided like its table, and each connection checks the condition on its rows. One
// connection reads alone if the planner expects all ranges together to cost more than the whole, such as when an index
// finds the rows, or if the condition may have different results in different connections, since their transactions
// begin at different times. This is so if the condition contains the text 'now', or calls a volatile function, a
// function of the time or the session, such as now(), CURRENT_DATE or pg_backend_pid(), or a stable function that is
// not the system's. The plan names what the condition calls, and the catalogs describe it.
//
// These cannot be divided: views, foreign tables, tables with foreign children, tables with an access method other than
// heap, and tables that, with their indexes, need more locks than the server has. Servers older than 14, poolers in
// transaction mode, and servers that do not export snapshots, or let them expire, cannot divide any. The error says
// why, and the first connection reads alone. The same error comes with the readers if there are fewer than would be
// useful. A table of less than 4 MiB is not divided. If a table becomes a child of another one while its parent is
// read, that is an error, or its rows are not read.
//
// # Reading: parts and shared snapshots
//
// [Source.Parts] cuts a table into parts, and [Source.Part] reads one, in any session with the same snapshot:
// [Source.Share] names the snapshot, and [Join] or [Source.Join] opens another session that reads it, in this process
// or on another machine. A session that has joined can share in turn, and the first one may then end. Parts are data,
// so they can be sent, kept and read again.
//
// A session that joins must reach the same server (its system identifier, and the time of its start), the same
// database, and have the same user and search_path. A connection pooler in transaction mode is refused.
//
// If the session that shared a snapshot has ended, and nobody has shared it again, the snapshot is lost. A new session
// can read the old parts only if its own snapshot is proven to be the same ([source.Snapshot.Same]): nothing at all was
// written since, or it is that of a standby that has paused at the same position. The proof does not cover what foreign
// tables and the functions of views return.
//
// # Reading: locks
//
// A table that was looked up stays locked against changes until the [Source] is closed, while such locks are at most a
// quarter of the server's lock table (max_locks_per_transaction times max_connections). Later tables are locked only
// while they are read; if one was changed before, reading it fails. Other locks, such as on indexes, and all locks of
// further connections are released before the next table or query. So all connections together hold at most half of the
// lock table, plus some dozens of locks on the system's catalogs. Only a single table or query, with its partitions and
// all their indexes, may take more. [Source.Prepare] locks tables in the same way, many by one statement.
//
// A change of a table that was cut waits until its session is closed, and other sessions that want to read their first
// part of it would wait for the change. They give up after 10 seconds ([source.ErrLocked]); the session that has cut
// the table can read the part.
//
// # Reading: values
//
// The settings of the transaction make the text of values independent of the server, the database and the user: times
// are in UTC, dates in ISO order, and floating-point numbers in the shortest exact form. Money is as lc_monetary = C
// prints it, $1,000.50, with two decimals and whatever the currency, so that it means the same in every database. Names
// of objects, such as regclass, have their schema, as in pg_dump. Those of views, of queries, and of selections with a
// condition, which may need the user's search_path, have it only if that requires one. Row security is off: a table
// whose policies would hide rows is an error. Text is UTF-8. A database in SQL_ASCII may hold any bytes, which are
// returned unchanged.
//
// Dates, times, UUIDs and bytea use the binary format, which is less work for the server. Dates, times and UUIDs are
// printed here as the server would print them. Other values are the server's text.
//
// A table comes with the rows of the tables that inherit from it. After [Source.Separate], it has its own alone, and
// [Source.Tables] lists the others too. The schema of a database in which tables inherit requires that
// ([source.Schema.OwnRows]).
//
// A table returns its columns in order. Generated columns are left out, as by pg_dump and by psql's \copy, since rows
// with them could not be loaded back. A selection or a query may name them.
//
// Rows implement [source.CSVWriter] and [source.BinaryWriter] by COPY, whose output is passed on unchanged, except rows
// of statements that COPY does not accept, such as SHOW and EXPLAIN. Many types have a binary form that is the same for
// all servers. Others have none here: arrays, intervals, money, enumerations, domains, composite types, ranges, and
// those of extensions.
//
// # Reading: untrusted databases
//
// Catalogs are read with only the system's own operators, functions and types, whatever search path the owner of the
// database has set. Other people's code can still run with the rights of the user: code behind a view or a foreign
// table, or in a query, and, as in any SELECT, functions in index expressions and extended statistics of a table, some
// of which run when the server plans a statement. Only WriteCSV and WriteBinary of a whole table without children,
// which is not divided, are not planned. So superusers should not read tables of owners that they do not trust.
//
// # Reading: memory
//
// Each connection holds one buffer of 256 KiB, and one row at a time, as the server has sent it. The values of a row of
// more than 1 MiB are lent to batches that accept it ([source.Batch.SetLending]), and copied into others. The largest
// row that the server can send is just below 1 GiB. Connections that share a table receive and lend together at most 16
// MiB of rows that are larger than 1 MiB, or a single larger row. The next one is received only after a reader asks for
// the rows after the one that it was lent. A copied row does not hold up other readers.
//
// # Filling: CSV and values
//
// The tables of a Sink are [sink.TextTable]: COPY … FROM STDIN (FORMAT csv) takes the CSV of Culvert, of COPY … TO and
// of psql as it is, without parsing here. [sink.Loader.Load] encodes batches into the same CSV. What is not quoted and
// empty is NULL. A value is read as the server reads a literal of the type of its column; so text, numbers, t and f, \x
// with hexadecimal digits, and JSON of other systems arrive as far as PostgreSQL has an equal. Values that would become
// others are refused before: see package culvert/sink/grammar. The rows of a text in which there is any are decoded to
// find it; other text is looked at and stays as it is, and only in columns whose type may change a value that the
// source can have. Money is read with lc_monetary = C, as a Source prints it.
//
// They are also [sink.BinaryTable]: the server needs a third less time for the binary form of COPY. Values of most
// types have one here, if they are texts as servers print them: numbers, texts, booleans, dates, times, intervals,
// UUIDs, addresses, JSON, binary data, enums, domains of these, and arrays of one dimension. What else there is, such
// as the date infinity, stays text, and so do rows of numbers of a digit or two, which would become far larger, and all
// rows of a table that has a column of another type.
//
// # Filling: one transaction
//
// By default, one connection loads all rows in one transaction. With [sink.Refuse], it takes the lock SHARE ROW
// EXCLUSIVE, which others can read under, but not write, and which proves that the table stays empty until it is
// filled. With [sink.Append], it takes ROW EXCLUSIVE, as any INSERT does. With [sink.Truncate], it takes ACCESS
// EXCLUSIVE, and COPY has the option FREEZE, unless the table is partitioned: the rows are written in the form in which
// VACUUM would leave them. As after any TRUNCATE, a transaction whose snapshot is older than the load sees the table
// empty, or, with FREEZE, filled.
//
// # Filling: several connections
//
// Several connections can fill an empty table. Each has a transaction of its own. They begin with the lock ROW
// EXCLUSIVE, with which all of them can write. Then a further connection, the guard, requests the lock SHARE. It waits
// for the loaders, and every other session that wants to write has to wait behind it. The server says for whom the
// guard waits: if for the loaders alone, and the table is empty then, nobody else has written or will. Only sessions
// that write directly into a partition of a partitioned table are not stopped.
//
// When all loaders are closed, the server checks deferred constraints. Then the transactions are committed one after
// the other, within milliseconds; for this time, others can see a part of the rows. If a commit fails, the rows that
// were committed are deleted again. If the server or this process ends at this moment, the rows of some connections
// remain. With a ledger, they are the rows of the parts that it records.
//
// If two connections add rows with equal unique keys, one waits for the other, and fails when the lock timeout ends.
//
// # Filling: parts
//
// With [sink.Filling.EachPart], any number of connections load parts, and commit each with its row in the ledger.
// Existing is applied before the first part of a load: a table that must be empty may have the rows of the parts in the
// ledger, by their number.
//
// # Filling: tables that are made
//
// With [sink.Filling.Create], a table of PostgreSQL is made in the transaction that fills it, by one connection and
// with FREEZE. Its schema is made before that, in a transaction of its own. First come its sequences, columns and
// checks; after the rows, checks that are NOT VALID, which rows that exist need not fulfil, its primary key, other
// constraints and indexes, for each of which the server may use several processes (max_parallel_maintenance_workers),
// the next numbers of its sequences, and its comments. [Sink.Finish] adds foreign keys. A partitioned table is made as
// one table.
//
// A definition of another system is translated by package culvert/sink/dialect. The table can have another name then,
// also with a schema, as in archive.orders; without one it is made in the first schema of the search path.
//
// # Filling: tables that are swapped
//
// With [sink.Swap], a new table is made beside the old one, by LIKE, without indexes. Until the end, the old one has
// the lock SHARE ROW EXCLUSIVE: others can read it, and who wants to write has to wait. When the rows are there, the
// new table gets indexes, foreign keys, checks that are not validated, owner, privileges, settings, comments and
// statistics like those of the old one. Only then is the old one locked for readers too, and dropped, and the new one
// gets its name. From the indexes on, all of this is one transaction. A transaction whose snapshot is older, and which
// has not used the table before, sees it as after a TRUNCATE.
//
// One connection does everything in that transaction, with FREEZE. Several connections, and parts that are committed,
// need a table that others can see: culvert_swap_ with the object identifier of the old one. Nobody but the user of the
// load has rights in it, whatever privileges are given by default. Its comment says what it is for. If the load fails,
// it is removed; if this process ends, the next load does so. Parts are kept: the ledger has them under the name of the
// new table, and the same load goes on with them, unless the old table was altered.
//
// A transaction that has read the old table holds it until it ends, so the swap waits. If it wants to write, it waits
// for the swap too, and the server ends one of them. If that is the load, or the lock timeout ends, the error is
// [sink.ErrLocked] and names the sessions. Only a load with parts in a ledger keeps its rows then.
//
// The error is [sink.ErrSwap] if one of these would be lost: views, rules, triggers, functions and columns that use the
// table or its type, foreign keys that refer to it (except in a group), inheritance, partitions, row security,
// publications, subscriptions, security labels, and privileges that others than the owner have granted.
//
// # Filling: groups
//
// [Sink.Group] fills several tables in one transaction, over one connection. It locks them in one statement, in the
// order of their object identifiers, and empties them in one TRUNCATE. Foreign keys between them that no order of the
// tables suits, since the tables refer to each other in a circle or to themselves, are deferred until Commit. One that
// is not deferrable is made so for the transaction, for which the user must own the table. A table that refers to
// itself can also be filled by one COPY without that. For each row and deferred key, the server keeps 12 bytes or so in
// memory.
//
// With [sink.Swap], the new tables of a group are made and filled in the transaction. When all have their rows, the old
// ones are locked for readers too, and dropped, and the new ones get their names. Then foreign keys are added, which
// proves them: those of the tables, and those of other tables that referred to the old ones, which the user must own.
//
// # Filling: what is not supported
//
// Views and foreign tables cannot be filled. The server refuses to truncate a table that a foreign key of another table
// refers to, even if that table is empty.
//
// # Filling: conflicts
//
// With [sink.Ignore] and [sink.Update], the rows go into a temporary table, from which INSERT … ON CONFLICT adds them
// to the table. This writes all rows twice. EXPLAIN runs that statement, and counts the rows that were written and
// those that were in conflict: together, they must be all. So a row that a trigger leaves out is an error, unless it is
// an update that changes nothing. Sum adds these rows, and reads the table as for other fillings.
//
// # Filling: values and settings
//
// The settings of the transactions are those with which a Source reads, so the text of values does not depend on the
// server, the database or the user. Row security is off: a table whose policies would refuse rows is an error. Triggers
// run and constraints are checked, unless the user has set session_replication_role, and defaults fill columns that
// rows do not have. Values for identity columns are taken as they are, and the sequences behind them are not changed.
//
// Sum reads the table by COPY … TO STDOUT, in the session of the loader, and takes the rows that its transaction has
// added, by xmin. It costs the server one scan of the table for each loader. With one loader and five columns, it took
// about half as long as the loading.
//
// # Filling: others
//
// An advisory lock keeps two loads from filling one table: pg_try_advisory_xact_lock(1129664076, n), where n is the
// object identifier of the table minus 2147483648, or (1129664078, hashtext(name)) for a table that is made. A load
// that makes a database holds pg_advisory_xact_lock(1129664079), on a connection of its own. A load waits for a lock as
// long as the filling says, 10 seconds by default (lock_timeout). Other timeouts are off.
//
// # Filling: errors
//
// The server says in which line a refused row ends. It counts the lines of one LoadText, or of the rows since the last
// Flush. A line feed within a value counts too, except in the first row.
package postgres

import (
	"context"

	"culvert/postgres/internal/fill"
	"culvert/postgres/internal/read"
	"culvert/postgres/internal/wire"
	"culvert/sink"
	"culvert/source"
)

// Source reads a database in one read-only transaction. It is a [source.Source], [source.Selector], [source.Lister],
// [source.Omitter], [source.Preparer], [source.Separator], [source.Describer], [source.Definer], [source.Tracer],
// [source.Needer], [source.Schemer], [source.Parter], [source.Sharer] and [source.PartialSnapshotter]. It must be used
// by one goroutine at a time.
type Source = read.DB

// Sink fills the tables of a database. It is a [sink.Sink], [sink.Planner], [sink.Cloner], [sink.Grouper] and
// [sink.Analyzer]. It must be used by one goroutine at a time.
type Sink = fill.DB

// ConnectError is the error of a server that cannot be reached, or that refuses a user, a password or a database. It
// wraps [source.ErrUnavailable]. Its text has no password.
type ConnectError = wire.ConnectError

var (
	_ source.Source = (*Source)(nil)
	_ sink.Sink     = (*Sink)(nil)
)

// OpenSource connects to a database and begins the transaction in which it is read.
//
// The connection string is a URL or a list of keyword=value, as for psql. Missing parts come from the environment
// (PGHOST, PGUSER, PGPASSWORD, PGSERVICE and others), the service file and the password file.
//
// The error is [source.ErrUnavailable] if the server cannot be reached, or refuses the user, the password or the
// database. No error contains a password.
func OpenSource(ctx context.Context, connString string) (*Source, error) {
	return read.Open(ctx, connString)
}

// OpenSink connects to a database to fill its tables. The connection string and the errors are those of [OpenSource].
func OpenSink(ctx context.Context, connString string) (*Sink, error) {
	return fill.Open(ctx, connString)
}

// Join connects to a database and reads a snapshot that another session has shared. Of a snapshot that a session has
// exported by itself, with pg_export_snapshot, only the Token may be known; then nothing else tells whether this is the
// right server.
func Join(ctx context.Context, connString string, snapshot source.Snapshot) (*Source, error) {
	return read.Join(ctx, connString, snapshot)
}

// SQLState returns the code of the server's error that err wraps, of five characters, or "" if there is none
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func SQLState(err error) string { return wire.Code(err) }
