// Package mysql fills the tables of MySQL and MariaDB, as a [sink.Sink]. It is tested with MariaDB 10.11.
//
//	db, err := mysql.Open(ctx, "mysql://writer@db.example.com/shop")
//	…
//	defer db.Close()
//	table, err := db.Table(ctx, "orders", sink.Filling{})
//
// # One transaction
//
// A table is filled in one transaction, which has one connection, so there is one loader. All rows are in the table
// after Commit, and none after anything else, also if the server or this process stops: the server undoes what is
// incomplete. So the table must have a storage engine with transactions, such as InnoDB. Others are refused, and a
// table that is made has InnoDB in place of them.
//
// The server commits when a table is made, truncated or renamed. Therefore Truncate deletes the rows, in the
// transaction, and Swap is Truncate, since nobody sees the table before it is committed. If the ledger has parts of the
// same load, the rows stay, and the load goes on, with or without EachPart. A table is not cleared if a foreign key
// would delete or change rows of another table too, or if it forbids to delete rows to which others refer. MariaDB
// shows foreign keys only to users who may change the tables that have them.
//
// The server checks foreign keys row by row. If a table refers to itself, its rows are replaced, or put into it while
// it is empty, without these checks, unless it has triggers. The sink then checks the keys of the table, and those that
// refer to it, before each commit. For that, the user must be allowed to read the other tables.
//
// A ledger is made before the transaction. Its name may have a database, which is made too. A filling with Create makes
// the table before the transaction too, with its indexes, and drops it again if the rows are not committed. If this
// process is killed meanwhile, the table remains, without rows, and the next load fills it. It is made in the opened
// database, whatever the schema of its definition, and its foreign keys are added by Finish. A definition of another
// system is translated by package culvert/sink/dialect.
//
// A named lock of the server (GET_LOCK) keeps other loads of the table out. A table that must be empty is locked
// against rows of others until the commit.
//
// If the connection is lost during a commit, the ledger says over another connection whether the commit has happened.
// Without a ledger, the error is [sink.ErrUnconfirmed].
//
// # Rows
//
// The rows are sent as text with LOAD DATA LOCAL INFILE, 4 MiB at a time, from memory. If the server does not allow
// that (local_infile), they are sent with INSERT, many in a statement. The session is strict: a value that the server
// would change, cut off or round is a [*sink.RowError], except that FLOAT and DOUBLE have the digits that they have.
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
// # Conflicts
//
// With Ignore and Update, rows go into a temporary table, and from there by INSERT … ON DUPLICATE KEY UPDATE. IGNORE,
// which would also change values, and REPLACE, which would delete rows, are not used. Triggers for updates fire for
// rows that exist, even with Ignore. Update fails if a row is in conflict by a unique index that is not the key.
package mysql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"culvert/internal/mysqlconnect"
	"culvert/internal/mysqlrow"
	"culvert/sink"
	"culvert/source"
)

// lockTimeout is how long statements wait for locks, unless the filling says otherwise.
const lockTimeout = 10 * time.Second

// DB is a connection to a database. It must be used by one goroutine at a time.
type DB struct {
	settings *mysqlconnect.Settings
	conn     *mysqlconnect.Conn
	infile   bool // the server allows LOAD DATA LOCAL
	packet   int  // the most bytes of a statement
	redact   bool // errors have no values
	open     *table
}

var (
	_ sink.Sink     = (*DB)(nil)
	_ sink.Cloner   = (*DB)(nil)
	_ sink.Analyzer = (*DB)(nil)
)

// Open connects to a database. The address is that of [culvert/source/mysql.Open]. The error is [source.ErrUnavailable]
// if the server cannot be reached, or refuses the user, the password or the database. No error contains a password.
func Open(ctx context.Context, url string) (*DB, error) {
	settings, err := mysqlconnect.Resolve(url)
	if err != nil {
		return nil, err
	}
	return open(ctx, settings)
}

func open(ctx context.Context, settings *mysqlconnect.Settings) (*DB, error) {
	conn, err := mysqlconnect.Connect(ctx, settings)
	if err != nil {
		return nil, connectFailed(err)
	}
	db := &DB{settings: settings, conn: conn}
	if err := db.prepare(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return db, nil
}

// strictMode is the SQL mode of the session.
const strictMode = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO"

// settingsSQL makes the settings on which values, errors and transactions depend. Timeouts get their longest values.
// MySQL and MariaDB each read a comment of their own.
const settingsSQL = `SET SESSION time_zone = '+00:00',
	sql_mode = '` + strictMode + `',
	lc_messages = 'en_US',
	autocommit = 1,
	completion_type = 'NO_CHAIN',
	foreign_key_checks = 1,
	unique_checks = 1,
	sql_safe_updates = 0,
	sql_select_limit = 18446744073709551615,
	sql_big_selects = 1,
	sql_notes = 1,
	default_storage_engine = 'InnoDB',
	max_error_count = 64,
	net_read_timeout = 31536000,
	net_write_timeout = 31536000,
	wait_timeout = 2147483
	/*!50708 , max_execution_time = 0 */
	/*M!100101 , max_statement_time = 0 */
	/*M!100201 , check_constraint_checks = 1 */
	/*M!100802 , explicit_defaults_for_timestamp = 1 */
	/*M!100300 , idle_transaction_timeout = 0, idle_write_transaction_timeout = 0 */`

// prepare makes the settings of the session, and asks for those of the server.
func (db *DB) prepare(ctx context.Context) error {
	const doing = "preparing the session"
	for _, sql := range []string{
		settingsSQL, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
	} {
		if err := db.conn.Exec(ctx, sql); err != nil {
			return db.failed(ctx, doing, err)
		}
	}
	found, err := db.conn.Query(ctx, 2, "SELECT @@max_allowed_packet, @@local_infile")
	if err == nil && len(found) != 1 {
		err = mysqlconnect.ErrAnswer
	}
	if err == nil {
		db.packet, err = strconv.Atoi(found[0][0])
		db.packet = min(db.packet, mysqlconnect.MaxStatement)
		db.infile = found[0][1] == "1"
	}
	return db.failed(ctx, doing, err)
}

// ready prepares the connection for a filling.
func (db *DB) ready(ctx context.Context, f sink.Filling) error {
	switch {
	case db.open != nil:
		return errors.New("mysql: another table of the database is being filled")
	case db.conn.Gone:
		return fmt.Errorf("mysql: %w: the connection was closed", source.ErrUnavailable)
	case ctx.Err() != nil:
		return fmt.Errorf("mysql: %w", ctx.Err())
	}
	timeout := f.LockTimeout
	if timeout <= 0 {
		timeout = lockTimeout
	}
	seconds := min(math.Ceil(timeout.Seconds()), 31536000)
	db.redact = f.Redact
	return db.failed(ctx, "preparing the session", db.conn.Exec(ctx,
		fmt.Sprintf("SET SESSION lock_wait_timeout = %.0f, innodb_lock_wait_timeout = %.0[1]f", seconds)))
}

// mayWrite returns a [sink.ErrReadOnly] if the server, or this user on it, may not write. Which users are exempt
// depends on the server, so it is asked by a statement for a table that does not exist: what is read-only refuses it
// first.
func (db *DB) mayWrite(ctx context.Context) error {
	const doing = "asking whether the server is read-only"
	found, err := db.conn.Query(ctx, 2,
		"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'innodb_read_only') AND Value <> 'OFF'")
	if err != nil || len(found) == 0 {
		return db.failed(ctx, doing, err)
	}
	for _, row := range found {
		if row[0] == "innodb_read_only" {
			return fmt.Errorf("mysql: %w: innodb_read_only is on", sink.ErrReadOnly)
		}
	}
	database := cmp.Or(db.conn.Database, "mysql")
	err = db.conn.Exec(ctx, "DELETE FROM "+mysqlrow.Quote(database)+".`culvert asks` WHERE FALSE")
	switch refused := mysqlconnect.Refused(err); {
	case refused != nil && refused.Number == codeReadOnly:
		return fmt.Errorf("mysql: %w: read_only is on", sink.ErrReadOnly)
	case refused != nil:
		return nil
	}
	return db.failed(ctx, doing, err)
}

// Clone opens another connection with the same settings.
func (db *DB) Clone(ctx context.Context) (sink.Sink, error) {
	clone, err := open(ctx, db.settings)
	if err != nil {
		return nil, err // a nil *DB would be a Sink
	}
	return clone, nil
}

// Close discards the table that is being filled, and closes the connection.
func (db *DB) Close() (err error) {
	if db.open != nil {
		err = db.open.Discard()
	}
	if !db.conn.Gone {
		db.conn.Close()
	}
	return err
}

// Analyze updates the statistics of a table.
func (db *DB) Analyze(ctx context.Context, name string, f sink.Filling) error {
	if err := db.ready(ctx, f); err != nil {
		return err
	}
	t, err := db.find(ctx, name)
	if err != nil {
		return err
	}
	doing := "analyzing " + t.String()
	const columns, kind, text = 4, 2, 3
	found, err := db.conn.Query(ctx, columns, "ANALYZE TABLE "+t.SQL())
	if err != nil {
		return db.failed(ctx, doing, err)
	}
	for _, row := range found {
		if row[kind] == "Error" {
			return fmt.Errorf("mysql: %s: %s", doing, row[text])
		}
	}
	return nil
}

// find finds the table that a name stands for.
func (db *DB) find(ctx context.Context, name string) (mysqlrow.Table, error) {
	found, err := mysqlrow.Find(ctx, db.conn, name)
	if _, unknown := errors.AsType[*source.UnknownError](err); unknown {
		return found, err
	}
	return found, db.failed(ctx, "looking for the table", err)
}
