// Package mysql reads rows out of MySQL, version 5.7 or newer, and MariaDB, version 10.3 or newer. It is tested with
// MariaDB 10.11.
//
//	db, err := mysql.Open(ctx, "mysql://reader@db.example.com/shop")
//	…
//	defer db.Close()
//	rows, err := db.Table(ctx, "orders")
//
// # One view of the database
//
// All that a [DB] reads, it reads on one connection in one read-only transaction with a consistent snapshot, which is
// taken in [Open]: tables that are read one after the other fit together, whatever others write meanwhile. That is true
// of tables whose engine has snapshots, which InnoDB has; those of MyISAM, Aria and MEMORY are read as they are at that
// moment. Tables are found by the names, and have the columns, that they have when they are read; one that was
// truncated or rewritten after the snapshot was taken gives an error. As long as the transaction lasts, the server
// keeps row versions that it could otherwise clean up, and who would redefine a table that was read has to wait.
//
// A savepoint that is set before each statement, and released after it, tells whether the transaction has gone on. If
// not, the connection is given up, and all that is asked for later fails. What ends a transaction is ANALYZE TABLE and
// CHECK TABLE, a CALL that commits, the rollback of a deadlock, which a locking read may run into, and some of the
// statements that the server refuses because they write, such as TRUNCATE. Where they give rows, those end with an
// error. A statement that gives no rows, or several results, is an error too, and ends the connection. Give what ends a
// transaction a connection of its own.
//
// # Values
//
// Settings of the session make values independent of the server, the database and the user: times are in UTC, and all
// text is UTF-8, whatever the character set of its column. Rows come in the binary protocol, in which floating-point
// numbers are exact; as text, the server rounds those of FLOAT to six digits. What the kinds are:
//
//	integers, DECIMAL, FLOAT, DOUBLE  Number; also TINYINT(1), which BOOL is, since it can hold more than two values
//	YEAR                              Number of four digits
//	BIT                               Number, the bits as an unsigned integer
//	JSON                              JSON
//	BINARY, VARBINARY, BLOB           Bytes
//	geometries                        Bytes, as the server stores them: an SRID of four bytes, then WKB
//	CHAR, VARCHAR, TEXT, ENUM, SET    Text, whatever the collation
//	DATE, DATETIME, TIMESTAMP, TIME   Text, as the server prints it, zero dates and hours above 24 among them
//
// MariaDB stores JSON as text with a check that it is JSON: by that check the columns of a table are known, but not
// those of a view or a query, whose JSON is Text. The zeros that ZEROFILL puts before an integer are left out.
//
// A table gives its columns in their order, invisible ones too; one of which the user may not read all columns is an
// error. Generated columns are left out, as by mysqldump, since no row could be loaded back with them; a query may name
// them, and so may a selection.
//
// In CSV every value can be told from every other one. LOAD DATA does not do so: it takes NULL and the empty string
// for the same, and needs binary data to go through UNHEX and BIT through CAST. In JSON Lines, JSON of several lines
// becomes one line, and the null of JSON is like NULL.
//
// # The end of the rows
//
// The rows of a base table are counted and compared with what the server has counted. Those of a view or a query are
// complete when the server says that they have ended: its protocol has no number there.
//
// When rows are closed before their end, the statement is ended on the server by a KILL QUERY on a second connection,
// and the DB can be used again. When their context ends, so does the connection, by a KILL too: after that the DB gives
// [source.ErrUnavailable]. The second connection goes to the address that the first one came out at. If there it meets
// another server all the same, behind a balancer, nothing is killed; the connection is given up, and its server finds
// out when it has the next row to send.
//
// # Memory
//
// A connection holds a buffer of a few hundred kilobytes, and a row while it passes. Each value costs the driver an
// allocation, a time two: it hands values out as interfaces.
package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"culvert/source"
)

// DB is a connection to a database, and implements [source.Source]. It is used by one goroutine at a time.
type DB struct {
	session *session
	open    *rows // the rows that were given last; nil before
}

var (
	_ source.Source    = (*DB)(nil)
	_ source.Selector  = (*DB)(nil)
	_ source.Lister    = (*DB)(nil)
	_ source.Describer = (*DB)(nil)
)

// Open connects to a database and begins the transaction.
//
// The address is a URL, mysql://USER@HOST:PORT/DATABASE or mariadb://…, of which all parts may be left out; "" leaves
// out all. What it does not say comes from the group [client] of the option file ~/.my.cnf, then from the environment
// (MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT and MYSQL_PWD), as for the programs of MySQL. As there, no host, or
// localhost without a port, is the Unix socket if there is one.
//
// The URL takes these options, as in ?ssl-mode=REQUIRED, by their names in option files: ssl-mode, ssl-ca, ssl-cert,
// ssl-key, socket, protocol (TCP or SOCKET), connect-timeout (in seconds, until the server has let the user in) and
// defaults-file, an option file in place of ~/.my.cnf. Without ssl-mode, TLS is used if the server has it, and the
// server is not verified; with ssl-ca it is VERIFY_CA.
//
// An option file may also have tls-version, and ssl and ssl-verify-server-cert as for MariaDB. Whatever their order,
// the strictest of what it says of TLS counts, unless the URL has ssl-mode. Options of TLS that are not supported, such
// as ssl-crl, are refused, and other options passed over.
//
// A server that cannot be reached, or refuses the user, the password or the database, gives [source.ErrUnavailable]. No
// error holds a password.
func Open(ctx context.Context, address string) (*DB, error) {
	settings, err := resolve(address)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, settings)
	if err != nil {
		return nil, err
	}
	return &DB{session: s}, nil
}

// Table gives all rows of a table or view.
//
// The name is first looked for as it is, in the database that was opened, then as database.table with both parts as
// they are, then as SQL reads it, with backticks around the parts. Letter case counts where it counts for the server.
//
// The server checks the statement at once, and runs it when the first rows are asked for.
func (db *DB) Table(ctx context.Context, name string) (source.Rows, error) {
	return db.Select(ctx, name, source.Selection{})
}

// Query gives the rows of one SQL statement. It cannot have parameters, nor change anything.
func (db *DB) Query(ctx context.Context, sql string) (source.Rows, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	if strings.Trim(sql, "; \t\r\n") == "" {
		return nil, errors.New("mysql: there is no statement in the query")
	}
	r := &rows{session: db.session, ctx: ctx, name: "query"}
	err := r.prepare(sql)
	if err == nil {
		err = r.execute()
	}
	if err != nil {
		return nil, err
	}
	db.open = r
	return r, nil
}

// begin makes sure that the connection is free.
func (db *DB) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mysql: %w", err)
	}
	if db.open != nil && db.open.err == nil {
		return errors.New("mysql: the rows that were asked for before are not closed")
	}
	if db.session.gone {
		return fmt.Errorf("mysql: %w: the connection was given up before", source.ErrUnavailable)
	}
	return nil
}

// Close ends the transaction and the connection, in a few seconds at most, also while rows are open. Its error is
// always nil: all that was read had been confirmed before.
func (db *DB) Close() error {
	if db.open != nil {
		db.open.end(errClosed)
	}
	db.session.close()
	return nil
}
