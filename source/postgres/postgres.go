// Package postgres reads rows out of PostgreSQL, version 12 or newer.
//
//	db, err := postgres.Open(ctx, "postgres://reader@db.example.com/shop")
//	…
//	defer db.Close()
//	rows, err := db.Table(ctx, "orders")
//
// # One view of the database
//
// A [DB] reads everything in one read-only transaction, which begins in [Open]: tables that are read one after the
// other fit together, and nothing in the database can be changed. The transaction works behind a connection pooler in
// transaction mode. While it lasts, the server keeps old row versions.
//
// PostgreSQL shows a table that was truncated or rewritten after the transaction began as empty, and finds tables by
// their current names, and partitions and other children in their current places. If a table, or one that a view reads,
// was changed in such a way, Table fails, or the rows end in an error. Such a change is not detected in a query, in a
// condition, in what functions read, or of the children that inherit from a table behind a view. What foreign tables
// return is not of the snapshot: [DB.OutsideSnapshot] names them, and the views that read them.
//
// # Several connections
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
// # Parts and shared snapshots
//
// [DB.Parts] cuts a table into parts, and [DB.Part] reads one, in any session with the same snapshot: [DB.Share] names
// the snapshot, and [Join] or [DB.Join] opens another session that reads it, in this process or on another machine. A
// session that has joined can share in turn, and the first one may then end. Parts are data, so they can be sent, kept
// and read again.
//
// A session that joins must reach the same server (its system identifier, and the time of its start), the same
// database, and have the same user and search_path. A connection pooler in transaction mode is refused.
//
// If the session that shared a snapshot has ended, and no baton is left, the snapshot is lost. A new session can read
// the old parts only if its own snapshot is proven to be the same ([source.Snapshot.Same]): nothing at all was written
// since, or it is that of a standby that has paused at the same position. The proof does not cover what foreign tables
// and the functions of views return.
//
// # Locks
//
// A table that was looked up stays locked against changes until the [DB] is closed, while such locks are at most a
// quarter of the server's lock table (max_locks_per_transaction times max_connections). Later tables are locked only
// while they are read; if one was changed before, reading it fails. Other locks, such as on indexes, and all locks of
// further connections are released before the next table or query. So all connections together hold at most half of the
// lock table, plus some dozens of locks on the system's catalogs. Only a single table or query, with its partitions and
// all their indexes, may take more.
//
// A change of a table that was cut waits until its session is closed, and other sessions that want to read their
// first part of it would wait for the change. They give up after 10 seconds ([source.ErrLocked]); the session that has
// cut the table can read the part.
//
// # Values
//
// The settings of the transaction make the text of values independent of the server, the database and the user: times
// are in UTC, dates in ISO order, and floating-point numbers in the shortest exact form. Money is as lc_monetary = C
// prints it, $1,000.50, with two decimals and whatever the currency, so that it means the same in every database. Only
// names of objects, such as regclass, would lose their meaning with a fixed setting: they have a schema if search_path
// requires one. Row security is off: a table whose policies would hide rows is an error. Text is UTF-8. A database in
// SQL_ASCII may hold any bytes, which are returned unchanged.
//
// Dates, times, UUIDs and bytea use the binary format, which is less work for the server. Dates, times and UUIDs are
// printed here as the server would print them. Other values are the server's text.
//
// A table returns its columns in order. Generated columns are left out, as by pg_dump and by psql's \copy, since rows
// with them could not be loaded back. A selection or a query may name them.
//
// Rows implement [source.CSVWriter] by COPY, whose output is passed on unchanged, except rows of statements that COPY
// does not accept, such as SHOW and EXPLAIN.
//
// # Untrusted databases
//
// Catalogs are read with only the system's own operators, functions and types, whatever search path the owner of the
// database has set. Other people's code can still run with the rights of the user: code behind a view or a foreign
// table, or in a query, and, as in any SELECT, functions in index expressions and extended statistics of a table, some
// of which run when the server plans a statement. Only WriteCSV of a whole table without children, which is not
// divided, is not planned. So superusers should not read tables of owners that they do not trust.
//
// # Memory
//
// Each connection holds one buffer of 256 KiB, and one row at a time, as the server has sent it. The values of a row of
// more than 1 MiB are lent to batches that accept it ([source.Batch.SetLending]), and copied into others. The largest
// row that the server can send is just below 1 GiB. Connections that share a table receive and lend together at most 16
// MiB of rows that are larger than 1 MiB, or a single larger row. The next one is received only after a reader asks for
// the rows after the one that it was lent. A copied row does not hold up other readers.
package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/pgconnect"
	"culvert/source"
)

// DB is a connection to a database. It implements [source.Source] and must be used by one goroutine at a time.
type DB struct {
	config  *pgconn.Config
	session *session
	reading *rows // the rows that were returned last; nil if their locks are released

	kept   int64            // the number of locks that stay until the end
	keptOf map[string]int64 // the number for each table, by its object identifier

	lastPart *rows // all rows of the selection of the last part, not to be read
	limited  bool  // it waits for locks no longer than partTimeout

	joined   source.Snapshot // the one that it reads, if it has joined one
	shared   source.Snapshot // what Share has returned
	snapshot string          // the name of the exported snapshot, or ""
	helpers  []*session      // further sessions with it; nil for lost ones
}

var (
	_ source.Source    = (*DB)(nil)
	_ source.Selector  = (*DB)(nil)
	_ source.Lister    = (*DB)(nil)
	_ source.Describer = (*DB)(nil)

	_ source.PartialSnapshotter = (*DB)(nil)
)

// Open connects to a database and begins the transaction.
//
// The connection string is a URL or a list of keyword=value, as for psql. Missing parts come from the environment
// (PGHOST, PGUSER, PGPASSWORD, PGSERVICE and others), the service file and the password file.
//
// The error is [source.ErrUnavailable] if the server cannot be reached, or refuses the user, the password or the
// database. No error contains a password.
func Open(ctx context.Context, connString string) (*DB, error) {
	config, err := pgconnect.ParseConfig(connString)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := s.beginTransaction(ctx, ""); err != nil {
		s.close()
		return nil, err
	}
	return &DB{config: config, session: s, keptOf: map[string]int64{}}, nil
}

// Table returns all rows of a table, partitioned table, view, materialized view or foreign table, including the rows of
// its children.
//
// It looks for the name as it is, then as schema.table with both parts as they are, then as SQL reads it: quotes
// protect, and anything else is in lower case. Without a schema, the user's search path decides.
func (db *DB) Table(ctx context.Context, name string) (source.Rows, error) {
	return db.Select(ctx, name, source.Selection{})
}

// Query returns the rows of one SQL statement. It must not have parameters, and cannot change anything.
func (db *DB) Query(ctx context.Context, sql string) (source.Rows, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	description, err := db.session.prepareQuery(ctx, sql)
	if err != nil {
		return nil, err
	}
	columns, err := db.session.describe(ctx, description.Fields)
	if err != nil {
		return nil, err
	}
	copies, err := db.session.copies(ctx, sql)
	if err != nil {
		return nil, err
	}
	r := newRows(ctx, db.session, "query", columns, sql, description.Fields)
	db.reading = r
	if !copies {
		return r, nil
	}
	return csvRows{r}, nil
}

// begin checks that the connection is free.
func (db *DB) begin(ctx context.Context) error {
	if db.reading != nil && db.reading.unread() {
		return errors.New("postgres: other rows of the database are still open")
	}
	return db.releaseLocks(ctx)
}

// Close ends the transaction and the connections, even if rows are open. It takes a few seconds at most, and always
// returns nil: everything that was read has been confirmed before.
func (db *DB) Close() error {
	if db.reading != nil {
		_ = db.reading.Close() // always nil
	}
	var closing sync.WaitGroup
	for _, s := range db.helpers {
		if s != nil {
			closing.Go(s.close)
		}
	}
	db.session.close()
	closing.Wait()
	db.helpers = nil
	return nil
}
