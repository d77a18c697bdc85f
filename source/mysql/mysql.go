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
// A [DB] reads everything on one connection, in one read-only transaction with a consistent snapshot. [Open] takes the
// snapshot, so tables that are read one after the other fit together, whatever others write meanwhile. This holds for
// storage engines that have snapshots, such as InnoDB; tables of MyISAM, Aria and MEMORY show their current rows, and
// those of FEDERATED the rows of another server: see [DB.OutsideSnapshot]. Tables of every engine can be read in one
// DB, in any order. Tables have the names and columns that they have when they are read. A table that was truncated or
// rewritten after the snapshot returns an error. While the transaction lasts, the server keeps old row versions, and a
// statement that redefines a table which was read has to wait.
//
// The DB sets a savepoint before each statement and releases it afterwards, which shows whether the transaction still
// exists. If it does not, the connection is closed, and all later calls fail. These end a transaction: ANALYZE TABLE
// and CHECK TABLE, a CALL that commits, the rollback of a deadlock, which a locking read can meet, and some statements
// that the server refuses because they write, such as TRUNCATE. If they return rows, the rows end in an error. A
// statement that returns no rows, or several results, is also an error and closes the connection. Use a separate
// connection for statements that end a transaction.
//
// Once a table of Aria was read, MariaDB sets no savepoints in the transaction. From then on, [DB.Query] takes only
// what EXPLAIN does, such as SELECT, since a CALL could end the transaction and begin another one unnoticed.
//
// # Values
//
// The settings of the session make values independent of the server, the database and the user: times are in UTC, and
// text is UTF-8, whatever the character set of its column. A text of a table or view that would come back from UTF-8 as
// another one is a [source.TextError], such as what UTF-8 has no character for, or the second of two codes for one
// character. Of a query, the server replaces what has no character by "?" or U+FFFD. If a column of it has such a mark,
// and a character set that may lack characters, then the query is run once more, and a text that was replaced is a
// TextError at its end. That cannot be found if the query itself turns a text into another character set, such as by a
// UNION, if it returns other rows the second time, or if it is no SELECT that can stand in a WITH, such as a CALL. A
// query that selects the bytes, as in CAST(name AS BINARY), has all of them.
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
// # The end of the rows
//
// The rows of a base table are counted and compared with the server's count. Rows of views and queries are complete
// when the server says that they have ended, since its protocol sends no count for them.
//
// Closing rows before their end ends the statement by a KILL QUERY on a second connection, after which the DB can be
// used again. If the context of the rows ends, the connection is killed too, and the DB returns
// [source.ErrUnavailable]. The second connection goes to the network address that the first one reached. If that is
// another server, such as behind a load balancer, nothing is killed: the connection is closed, and its server notices
// when it sends the next row.
//
// # Memory
//
// A connection holds a buffer of 256 KiB, and one row at a time. The driver allocates once for each value, and twice
// for a time, since it returns values as interfaces.
package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"culvert/internal/mysqlconnect"
	"culvert/source"
)

// DB is a connection to a database. It implements [source.Source] and must be used by one goroutine at a time.
type DB struct {
	session *session
	open    *rows // the rows that were returned last, or nil
}

var (
	_ source.Source    = (*DB)(nil)
	_ source.Selector  = (*DB)(nil)
	_ source.Lister    = (*DB)(nil)
	_ source.Omitter   = (*DB)(nil)
	_ source.Describer = (*DB)(nil)
)

// Open connects to a database and begins the transaction.
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
func Open(ctx context.Context, url string) (*DB, error) {
	settings, err := mysqlconnect.Resolve(url)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, settings)
	if err != nil {
		return nil, err
	}
	return &DB{session: s}, nil
}

// Files returns the files that [Open] reads for an address: the option file, and the files of certificates and keys. It
// is for callers that must not overwrite them. If Open would fail, some may be missing.
func Files(url string) []string { return mysqlconnect.Files(url) }

// Table returns all rows of a table or view.
//
// It looks for the name as it is in the opened database, then as database.table with both parts as they are, then as
// SQL reads it, with backticks around the parts. Letter case counts if it counts for the server.
//
// The server checks the statement at once, and runs it when the first rows are read.
func (db *DB) Table(ctx context.Context, name string) (source.Rows, error) {
	return db.Select(ctx, name, source.Selection{})
}

// Query returns the rows of one SQL statement. It must not have parameters, and cannot change anything.
func (db *DB) Query(ctx context.Context, sql string) (source.Rows, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	if strings.Trim(sql, "; \t\r\n") == "" {
		return nil, errors.New("mysql: the query contains no statement")
	}
	r := &rows{session: db.session, ctx: ctx, name: "query", query: sql}
	err := r.prepare(sql)
	if err == nil {
		if err = db.session.checkUnguarded(ctx, sql); err != nil {
			return nil, r.fail(err)
		}
		err = r.execute()
	}
	if err != nil {
		return nil, err
	}
	db.open = r
	return r, nil
}

// begin checks that the connection is free.
func (db *DB) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mysql: %w", err)
	}
	if db.open != nil && db.open.err == nil {
		return errors.New("mysql: other rows of the database are still open")
	}
	if db.session.Gone {
		return fmt.Errorf("mysql: %w: the connection was closed after an earlier error", source.ErrUnavailable)
	}
	return nil
}

// Close ends the transaction and the connection, even if rows are open. It takes a few seconds at most, and always
// returns nil: everything that was read has been confirmed before.
func (db *DB) Close() error {
	if db.open != nil {
		db.open.end(errClosed)
	}
	db.session.Close()
	return nil
}
