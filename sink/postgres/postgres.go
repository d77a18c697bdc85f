// Package postgres fills tables of PostgreSQL, version 12 or newer.
//
//	db, err := postgres.Open(ctx, "postgres://writer@db.example.com/shop")
//	…
//	defer db.Close()
//	table, err := db.Table(ctx, "orders", sink.Filling{})
//
// Its tables are [culvert/sink.TextTable]: COPY … FROM STDIN (FORMAT csv) takes the CSV of Culvert, of COPY … TO and of
// psql as it is, without parsing here. [culvert/sink.Loader.Load] encodes batches into the same CSV. What is not quoted
// and empty is NULL. A value is read as the server reads a literal of the type of its column; so text, numbers, t and
// f, \x with hexadecimal digits, and JSON of other systems arrive as far as PostgreSQL has an equal. Values that would
// become others are refused before: see package culvert/sink/grammar. The rows of a text in which there is any are
// decoded to find it; other text is looked at and stays as it is, and only in columns whose type may change a value
// that the source can have. Money is read with lc_monetary = C, as package culvert/source/postgres prints it.
//
// # One transaction
//
// By default, one connection loads all rows in one transaction. With [culvert/sink.Refuse], it takes the lock SHARE ROW
// EXCLUSIVE, which others can read under, but not write, and which proves that the table stays empty until it is
// filled. With [culvert/sink.Append], it takes ROW EXCLUSIVE, as any INSERT does. With [culvert/sink.Truncate], it
// takes ACCESS EXCLUSIVE, and COPY has the option FREEZE, unless the table is partitioned: the rows are written in the
// form in which VACUUM would leave them. As after any TRUNCATE, a transaction whose snapshot is older than the load
// sees the table empty, or, with FREEZE, filled.
//
// # Several connections
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
// # Parts
//
// With [culvert/sink.Filling.EachPart], any number of connections load parts, and commit each with its row in the
// ledger. Existing is applied before the first part of a load: a table that must be empty may have the rows of the
// parts in the ledger, by their number.
//
// # Tables that are made
//
// With [culvert/sink.Filling.Create], a table of PostgreSQL is made in the transaction that fills it, by one connection
// and with FREEZE. Its schema is made before that, in a transaction of its own. First come its sequences, columns and
// checks; after the rows, checks that are NOT VALID, which rows that exist need not fulfil, its primary key, other
// constraints and indexes, for each of which the server may use several processes (max_parallel_maintenance_workers),
// the next numbers of its sequences, and its comments. [DB.Finish] adds foreign keys. A partitioned table is made as
// one table.
//
// A definition of another system is translated by package culvert/sink/dialect. The table can have another name then,
// also with a schema, as in archive.orders; without one it is made in the first schema of the search path.
//
// # Tables that are swapped
//
// With [culvert/sink.Swap], a new table is made beside the old one, by LIKE, without indexes. Until the end, the old
// one has the lock SHARE ROW EXCLUSIVE: others can read it, and who wants to write has to wait. When the rows are
// there, the new table gets indexes, foreign keys, checks that are not validated, owner, privileges, settings, comments
// and statistics like those of the old one. Only then is the old one locked for readers too, and dropped, and the new
// one gets its name. From the indexes on, all of this is one transaction. A transaction whose snapshot is older, and
// which has not used the table before, sees it as after a TRUNCATE.
//
// One connection does everything in that transaction, with FREEZE. Several connections, and parts that are committed,
// need a table that others can see: culvert_swap_ with the object identifier of the old one. Nobody but the user of the
// load has rights in it, whatever privileges are given by default. Its comment says what it is for. If the load fails,
// it is removed; if this process ends, the next load does so. Parts are kept: the ledger has them under the name of the
// new table, and the same load goes on with them, unless the old table was altered.
//
// A transaction that has read the old table holds it until it ends, so the swap waits. If it wants to write, it waits
// for the swap too, and the server ends one of them. If that is the load, or the lock timeout ends, the error is
// [culvert/sink.ErrLocked] and names the sessions. Only a load with parts in a ledger keeps its rows then.
//
// The error is [culvert/sink.ErrSwap] if one of these would be lost: views, rules, triggers, functions and columns that
// use the table or its type, foreign keys that refer to it, inheritance, partitions, row security, publications,
// subscriptions, security labels, and privileges that others than the owner have granted.
//
// # What is not supported
//
// Views and foreign tables cannot be filled. The server refuses to truncate a table that a foreign key of another table
// refers to, even if that table is empty.
//
// # Conflicts
//
// With [culvert/sink.Ignore] and [culvert/sink.Update], the rows go into a temporary table, from which INSERT … ON
// CONFLICT adds them to the table. This writes all rows twice. EXPLAIN runs that statement, and counts the rows that
// were written and those that were in conflict: together, they must be all. So a row that a trigger leaves out is an
// error, unless it is an update that changes nothing. Sum adds these rows, and reads the table as for other fillings.
//
// # Values and settings
//
// The settings of the transactions are those with which source/postgres reads, so the text of values does not depend on
// the server, the database or the user. Row security is off: a table whose policies would refuse rows is an error.
// Triggers run and constraints are checked, unless the user has set session_replication_role, and defaults fill columns
// that rows do not have. Values for identity columns are taken as they are, and the sequences behind them are not
// changed.
//
// Sum reads the table by COPY … TO STDOUT, in the session of the loader, and takes the rows that its transaction has
// added, by xmin. It costs the server one scan of the table for each loader. With one loader and five columns, it
// took about half as long as the loading.
//
// # Others
//
// An advisory lock keeps two loads from filling one table: pg_try_advisory_xact_lock(1129664076, n), where n is the
// object identifier of the table minus 2147483648, or (1129664078, hashtext(name)) for a table that is made. Locks are
// waited for as long as the filling says, 10 seconds by default (lock_timeout). Other timeouts are off.
//
// # Errors
//
// The server says in which line a refused row ends. It counts the lines of one LoadText, or of the rows since the last
// Flush. A line feed within a value counts too, except in the first row.
package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/pgconnect"
	"culvert/sink"
	"culvert/source"
)

// grace is how long to wait for the server when a statement is canceled, the connection is closed, or the outcome of a
// transaction is asked for. Only tests change it.
var grace = 5 * time.Second

// DB is a connection to a database. It implements [sink.Sink] and must be used by one goroutine at a time.
type DB struct {
	config  *pgconn.Config
	session *session
	filling *table // the table that is being filled, or nil
}

var (
	_ sink.Sink     = (*DB)(nil)
	_ sink.Cloner   = (*DB)(nil)
	_ sink.Analyzer = (*DB)(nil)
)

// Open connects to a database. The connection string is a URL or a list of keyword=value, as for psql. Missing parts
// come from the environment, the service file and the password file.
//
// The error is [culvert/source.ErrUnavailable] if the server cannot be reached, or refuses the user, the password or
// the database. No error contains a password.
func Open(ctx context.Context, connString string) (*DB, error) {
	config, err := pgconnect.ParseConfig(connString)
	if err != nil {
		return nil, err
	}
	return open(ctx, config)
}

func open(ctx context.Context, config *pgconn.Config) (*DB, error) {
	s, err := connect(ctx, config)
	if err != nil {
		return nil, err
	}
	return &DB{config: config, session: s}, nil
}

// Clone opens another connection to the same database.
func (db *DB) Clone(ctx context.Context) (sink.Sink, error) {
	clone, err := open(ctx, db.config)
	if err != nil {
		return nil, err
	}
	return clone, nil
}

var errOpen = errors.New("postgres: another table is being filled; commit or discard it first")

// begin begins a transaction, if no table is being filled. Between two, a session is idle for as long as others fill
// theirs. If it was ended meanwhile, as idle_session_timeout does, another takes its place.
func (db *DB) begin(ctx context.Context, f sink.Filling) error {
	if db.filling != nil {
		return errOpen
	}
	err := db.session.begin(ctx, f)
	if ctx.Err() != nil || !errors.Is(err, source.ErrUnavailable) {
		return err
	}
	another, failed := connect(ctx, db.config)
	if failed != nil {
		return failed
	}
	db.session.close()
	db.session = another
	return another.begin(ctx, f)
}

// Analyze updates the statistics of a table, in a transaction of its own.
func (db *DB) Analyze(ctx context.Context, name string, f sink.Filling) error {
	if err := db.begin(ctx, f); err != nil {
		return err
	}
	defer db.session.rollback()
	t, err := db.session.findTarget(ctx, name)
	if err != nil {
		return err
	}
	if err := db.session.exec(ctx, "ANALYZE "+t.sql); err != nil {
		return db.session.failed(ctx, "ANALYZE "+t.sql, err)
	}
	return db.session.commit(ctx, db.config)
}

// Close discards the table that is being filled, and closes the connection. It takes a few seconds at most.
func (db *DB) Close() error {
	var err error
	if db.filling != nil {
		err = db.filling.Discard()
	}
	db.session.close()
	return err
}
