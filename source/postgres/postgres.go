// Package postgres reads rows out of PostgreSQL, version 12 or newer.
//
//	db, err := postgres.Open(ctx, "postgres://reader@db.example.com/shop")
//	…
//	defer db.Close()
//	rows, err := db.Table(ctx, "orders")
//
// # One view of the database
//
// All that a [DB] reads, it reads in one read-only transaction, which begins in [Open]: tables that are read one after
// the other fit together, and nothing in the database can be changed. The transaction asks for no more than a
// connection pooler in transaction mode can give. As long as it lasts, the server keeps row versions that it could
// otherwise clean up.
//
// PostgreSQL shows a table that was truncated or rewritten after the transaction began without rows, and finds tables
// by the names, and partitions in the places, that they have now. For a table that was changed in such a way, Table
// fails, or the rows end in an error. Behind a view, in a query or in a condition it is not noticed; nor is a child
// that inherits from its table no more.
//
// # Several connections
//
// The rows of a table implement [source.Divider]: several connections read it together, from PostgreSQL 14 on. The
// first exports its snapshot, and the others begin their transactions with it, so that all see the database as it was
// at one moment. Each takes one range of pages after the other, by the ctid of the rows, and the server confirms the
// number of rows of every range. The condition on the ctid is put to the table by its name: children and partitions are
// read in ranges with their parent, with the rights on the parent, and their columns by name.
//
// Before the first row, all of them lock the table, its children and their indexes, so that what is being read cannot
// be changed meanwhile. A connection that cannot have the locks within a second, as when a change of the table waits
// for the first one, does not take part.
//
// Ranges are weighed with the values that are kept apart from the rows (TOAST). If nearly all of a table is in such
// values, and it has few pages, the rows of a page are divided by their lines.
//
// A selection is divided like its table, unless it has a limit, and each connection tries the condition on the rows
// that it reads. One connection reads alone if the planner expects all ranges together to cost more than the whole, for
// example because an index finds the rows. It also reads alone if the condition may have another result in each
// connection, since their transactions do not begin at the same moment. That is so if the condition has the text 'now',
// or calls a volatile function, a function of the time or the session, such as now(), CURRENT_DATE or pg_backend_pid(),
// or a stable function that is not the system's. The plan names what the condition calls, and the catalogs describe it.
//
// Views, foreign tables and tables with a foreign table among their children cannot be divided, nor those whose access
// method is not heap, or for whose tables and indexes the server has too few locks; nor can what a server older than 14
// or a pooler in transaction mode holds, or one that exports no snapshot, or lets it expire. The error says which it
// is, and the first connection reads alone; it is also there, beside the readers, if there are fewer than would be of
// use. A table of less than 4 MiB is not divided. A table that becomes a child of another while its parent is read,
// with rows of before, may be read in part; a partition is noticed.
//
// # Locks
//
// A table that was looked up is locked against changes until the [DB] is closed, while these locks are at most a
// quarter of those that the server has room for (max_locks_per_transaction times max_connections). A table that is
// looked up later is locked only while it is read: if it was changed before, reading it fails. Other locks that reading
// takes, such as those on indexes, and all locks of further connections, are released before the next table or query.
// So all connections together hold at most half of the locks that there is room for, and some dozens on the system's
// catalogs. Only a single table or query, with its partitions and all of their indexes, may take more.
//
// # Values
//
// Settings of the transaction make the text of values independent of the server, the database and the user: times are
// in UTC, dates in ISO order, floating-point numbers in the shortest form that is exact. Two kinds of types are left,
// whose text would lose its meaning with a fixed setting: money is in the currency of lc_monetary, and the names of
// objects, such as those of regclass, have a schema where search_path asks for one. Row security is off: a table whose
// policies would leave out rows gives an error. Text is UTF-8; a database in SQL_ASCII, which may hold any bytes, gives
// them as they are.
//
// Dates, times and UUIDs are asked for in the binary format, which is less work for the server, and are printed here as
// the server would print them. All else, but bytea, is the text of the server.
//
// A table gives its columns in their order. Generated columns are left out, as by pg_dump and by psql's \copy, since no
// row could be loaded back with them; a selection or a query may name them.
//
// Rows implement [source.CSVWriter] by COPY, which passes through from the server as it is. Only the rows of statements
// that COPY does not take, such as SHOW and EXPLAIN, do not implement it.
//
// # Databases of others
//
// What is looked up in the catalogs is looked up with nothing but the system's own operators, functions and types,
// whatever search path the owner of the database has set. Other code of others can still run with the rights of the
// user: that behind a view or a foreign table, or in a query; and, as with any SELECT, functions in the index
// expressions and extended statistics of a table, some of which the server calls when it plans a statement. Only
// WriteCSV of all of a table without children, which is not divided, is not planned. So a superuser should not read
// tables of owners whom he does not trust in any other way.
//
// # Memory
//
// Each connection holds one buffer of a few hundred kilobytes, and a row while it passes, as the server has sent it.
// The values of a row of more than 1 MiB are lent to a batch that takes them so ([source.Batch.SetLending]), and copied
// into others. The largest row that the server can send is just below 1 GiB. Connections that share a table receive and
// lend together at most 16 MiB of rows that are larger than 1 MiB, or a single row that is larger than these 16 MiB. A
// further one is not received before a reader asks for the rows after the one that it was lent. What was copied hinders
// no other reader.
package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/source"
)

// DB is a connection to a database, and implements [source.Source]. It is used by one goroutine at a time.
type DB struct {
	config  *pgconn.Config
	session *session
	open    *rows // the rows that were given last; nil if nothing is left of them

	kept   int64            // locks that stay until the end
	keptOf map[string]int64 // how many of them are those of a table, by its object identifier

	snapshot string     // the name of the view, once it has been exported
	helpers  []*session // more sessions with it; nil where one was lost
}

var (
	_ source.Source    = (*DB)(nil)
	_ source.Selector  = (*DB)(nil)
	_ source.Lister    = (*DB)(nil)
	_ source.Describer = (*DB)(nil)
)

// Open connects to a database and begins the transaction.
//
// The connection string is a URL or a list of keyword=value, as for psql. What it does not say comes from the
// environment (PGHOST, PGUSER, PGPASSWORD, PGSERVICE and the others), the service file and the password file; "" takes
// all from there.
//
// A server that cannot be reached, or refuses the user, the password or the database, gives [source.ErrUnavailable]. No
// error holds a password.
func Open(ctx context.Context, connString string) (*DB, error) {
	config, err := parseConfig(connString)
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

// Table gives all rows of a table, partitioned table, view, materialized view or foreign table. A parent gives the rows
// of its children too.
//
// The name is first looked for as it is, then as schema.table with both parts as they are, then as SQL reads it: quotes
// protect, anything else is in lower case. Without a schema, the search path of the user decides.
func (db *DB) Table(ctx context.Context, name string) (source.Rows, error) {
	return db.Select(ctx, name, source.Selection{})
}

// Query gives the rows of one SQL statement. It cannot have parameters, nor change anything.
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
	db.open = r
	if !copies {
		return r, nil
	}
	return csvRows{r}, nil
}

// begin makes sure that the connection is free.
func (db *DB) begin(ctx context.Context) error {
	if db.open != nil && db.open.unread() {
		return errors.New("postgres: the rows that were asked for before are not closed")
	}
	return db.releaseLocks(ctx)
}

// Close ends the transaction and the connections, in a few seconds at most, also while rows are open. Its error is
// always nil: all that was read had been confirmed before.
func (db *DB) Close() error {
	if db.open != nil {
		_ = db.open.Close() // always nil
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
