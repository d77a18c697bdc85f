// Package fill fills tables of MySQL and MariaDB: what package mysql says about its Sink.
package fill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/source"
)

// DB is a connection to a database. It must be used by one goroutine at a time.
type DB struct {
	settings *wire.Settings
	conn     *wire.Conn
	infile   bool // the server allows LOAD DATA LOCAL
	packet   int  // the most bytes of a statement
	redact   bool // errors have no values
	filler   sink.Filler
	guard    *wire.Conn // that keeps other restorations out, if one does

	// What is known, so that it is not asked for each table.
	waits   float64         // the seconds that statements wait for locks
	ledger  string          // the table of a ledger that was found or made
	engines map[string]bool // those with transactions, in lower case, and whether they have snapshots
}

var (
	_ sink.Sink     = (*DB)(nil)
	_ sink.Cloner   = (*DB)(nil)
	_ sink.Analyzer = (*DB)(nil)
)

// Open connects to a database.
func Open(ctx context.Context, url string) (*DB, error) {
	settings, err := wire.Resolve(url)
	if err != nil {
		return nil, err
	}
	return open(ctx, settings)
}

func open(ctx context.Context, settings *wire.Settings) (*DB, error) {
	conn, err := wire.Connect(ctx, settings)
	if err != nil {
		return nil, err
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
// MySQL and MariaDB each read a comment of their own. MySQL, which keeps 1024 warnings, lets only administrators change
// that number.
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
	net_read_timeout = 31536000,
	net_write_timeout = 31536000,
	wait_timeout = 2147483
	/*!50708 , max_execution_time = 0 */
	/*M!50300 , max_error_count = 64 */
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
		err = wire.ErrAnswer
	}
	if err == nil {
		db.packet, err = strconv.Atoi(found[0][0])
		db.packet = min(db.packet, wire.MaxStatement)
		db.infile = found[0][1] == "1"
	}
	return db.failed(ctx, doing, err)
}

// ready prepares the connection for a filling.
func (db *DB) ready(ctx context.Context, f sink.Filling) error {
	switch err := db.filler.Idle(); {
	case err != nil:
		return err
	case db.conn.Gone:
		return fmt.Errorf("mysql: %w: the connection was closed", source.ErrUnavailable)
	case ctx.Err() != nil:
		return fmt.Errorf("mysql: %w", ctx.Err())
	}
	seconds := min(math.Ceil(f.Timeout().Seconds()), 31536000)
	db.redact = f.Redact
	if seconds == db.waits {
		return nil
	}
	err := db.conn.Exec(ctx,
		fmt.Sprintf("SET SESSION lock_wait_timeout = %.0f, innodb_lock_wait_timeout = %.0[1]f", seconds))
	if err == nil {
		db.waits = seconds
	}
	return db.failed(ctx, "preparing the session", err)
}

// mayWrite returns a [sink.ErrReadOnly] if the server, or this user on it, may not write. Which users are exempt
// depends on the server, so it is asked by a statement for a table that does not exist: what is read-only refuses it
// first.
func (db *DB) mayWrite(ctx context.Context) error {
	const doing = "asking whether the server is read-only"
	found, err := db.conn.Query(ctx, 2, "SELECT @@global.read_only, @@global.innodb_read_only")
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	isOff := func(value string) bool { return value == "0" || value == "OFF" }
	switch {
	case err != nil:
		return db.failed(ctx, doing, err)
	case !isOff(found[0][1]):
		return fmt.Errorf("mysql: %w: innodb_read_only is on", sink.ErrReadOnly)
	case isOff(found[0][0]):
		return nil
	}
	database := cmp.Or(db.conn.Database, "mysql")
	err = db.conn.Exec(ctx, "DELETE FROM "+catalog.Quote(database)+".`culvert asks` WHERE FALSE")
	switch refused := wire.Refused(err); {
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
func (db *DB) Close() error {
	err := db.filler.Close()
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
func (db *DB) find(ctx context.Context, name string) (catalog.Table, error) {
	found, err := catalog.Find(ctx, db.conn, name)
	if _, unknown := errors.AsType[*source.UnknownError](err); unknown {
		return found, err
	}
	return found, db.failed(ctx, "looking for the table", err)
}
