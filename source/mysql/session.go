package mysql

import (
	"bufio"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	gomysql "github.com/go-sql-driver/mysql"

	"culvert/source/internal/sqlsource"
	"culvert/source/mysql/internal/address"
)

// readBuffer is the size of reads from the network. The driver itself reads 4 KiB at a time.
const readBuffer = 256 << 10

// conn is a connection of the driver. Package database/sql would add a pool, which a single transaction does not need,
// and another copy of each row.
type conn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.QueryerContext
	driver.ExecerContext
	driver.Validator
}

// session is a connection that is in a transaction.
type session struct {
	connector driver.Connector
	conn      conn
	dialed    net.Conn // the last one
	network   net.Conn // below conn
	id        int64    // the number of the connection for KILL; 0 if it has none
	server    string   // the result of whichServer
	started   int64    // when the server was started, in seconds by its own clock
	version   string
	taken     string // when the snapshot was taken
	database  string // "" if none is opened
	isMariaDB bool
	foldCase  bool // letter case does not count in table names
	gone      bool // closed
}

func connect(ctx context.Context, settings *address.Settings) (*session, error) {
	s := &session{}
	var err error
	if s.connector, err = newConnector(settings, s.dial); err != nil {
		return nil, err
	}
	limited := ctx
	if settings.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, settings.Timeout)
		defer cancel()
	}
	if s.conn, err = s.connect(limited); err != nil {
		if limited.Err() != nil {
			err = fmt.Errorf("no answer within %v", settings.Timeout)
		}
		return nil, connectFailed(ctx, settings, err)
	}
	s.network = s.dialed
	if err := s.beginTransaction(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// connect opens a connection.
func (s *session) connect(ctx context.Context) (opened conn, err error) {
	err = guarded(func() error {
		c, err := s.connector.Connect(ctx)
		if err == nil {
			opened = c.(conn)
		}
		return err
	})
	if errors.Is(err, errUnreadable) {
		_ = s.dialed.Close() // the driver did not reach its own Close; the error is the server's
	}
	return opened, err
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

func newConnector(settings *address.Settings, dial dialer) (driver.Connector, error) {
	config := gomysql.NewConfig()
	config.Net, config.Addr = settings.Server()
	config.User, config.Passwd, config.DBName = settings.User, settings.Password, settings.Database
	config.Logger = &gomysql.NopLogger{}
	config.ConnectionAttributes = "program_name:culvert"
	config.DialFunc = dial
	var err error
	config.TLS, config.AllowFallbackToPlaintext, err = settings.TLS()
	if err != nil {
		return nil, err
	}
	if err := config.Apply(gomysql.Charset("utf8mb4", "")); err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	connector, err := gomysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	return connector, nil
}

// dial connects. A second connection, for a KILL, goes to the address that the first one has reached, since a name may
// stand for several servers.
func (s *session) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.network != nil {
		network, address = s.network.RemoteAddr().Network(), s.network.RemoteAddr().String()
	}
	connected, err := (&net.Dialer{KeepAliveConfig: sqlsource.KeepAlive}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.dialed = connected
	if s.network != nil {
		return connected, nil
	}
	return &bufferedConn{connected, bufio.NewReaderSize(connected, readBuffer)}, nil
}

// bufferedConn is a connection that reads ahead.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.reader.Read(p) }

// beginSQL makes the settings and takes the snapshot. The settings concern values and timeouts, which get their longest
// values. MySQL and MariaDB each read a comment of their own. The session stays read-only even if a statement of the
// user ends the transaction.
var beginSQL = []string{
	`SET SESSION time_zone = '+00:00',
	sql_mode = REPLACE(@@sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', ''),
	sql_select_limit = 18446744073709551615,
	sql_big_selects = 1,
	net_read_timeout = 31536000,
	net_write_timeout = 31536000,
	wait_timeout = 2147483
	/*!50708 , max_execution_time = 0 */
	/*M!100101 , max_statement_time = 0 */
	/*M!100300 , idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0 */`,
	"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
	"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
}

func (s *session) beginTransaction(ctx context.Context) (err error) {
	const doing = "beginning the transaction"
	for _, sql := range beginSQL {
		if err := s.exec(ctx, sql); err != nil {
			return s.failed(ctx, doing, err)
		}
	}
	if s.started, err = s.serverStart(ctx); err != nil {
		return s.failed(ctx, doing, err)
	}
	found, err := s.query(ctx, 6, `SELECT CONNECTION_ID(), VERSION(), @@lower_case_table_names, DATABASE(),
		UTC_TIMESTAMP(6), `+whichServer)
	if err != nil {
		return s.failed(ctx, doing, err)
	}
	if len(found) != 1 {
		return s.failed(ctx, doing, errAnswer)
	}
	if s.id, err = strconv.ParseInt(found[0][0], 10, 64); err != nil {
		return s.failed(ctx, doing, errAnswer)
	}
	s.version = found[0][1]
	s.isMariaDB = strings.Contains(strings.ToUpper(s.version), "MARIADB")
	s.foldCase = found[0][2] != "0"
	s.database, s.taken, s.server = found[0][3], found[0][4], found[0][5]
	return nil
}

// serverStart returns when the server was started, in seconds by its own clock, accurate to one or two seconds. It is 0
// if the server does not tell.
func (s *session) serverStart(ctx context.Context) (int64, error) {
	var numbers [2]int64
	for i, sql := range []string{"SHOW GLOBAL STATUS LIKE 'Uptime'", "SELECT UNIX_TIMESTAMP()"} {
		found, err := s.query(ctx, anyColumns, sql)
		if _, refused := errors.AsType[*gomysql.MySQLError](err); refused && ctx.Err() == nil {
			return 0, nil // such as by a proxy
		}
		if err != nil {
			return 0, err
		}
		if len(found) == 0 {
			return 0, nil
		}
		if numbers[i], err = strconv.ParseInt(found[0][len(found[0])-1], 10, 64); err != nil {
			return 0, errAnswer
		}
	}
	return numbers[1] - numbers[0], nil
}

var errAnswer = errors.New("the server sent an unexpected answer")

// Each statement that others have written runs between these two. If it ends the transaction, the savepoint is gone,
// and the second one fails.
const (
	setSavepoint     = "SAVEPOINT culvert"
	releaseSavepoint = "RELEASE SAVEPOINT culvert"
)

var errSnapshot = errors.New("the statement has ended the transaction and its snapshot")

// keepSnapshot checks after a statement that the snapshot still exists. If not, it closes the session.
func (s *session) keepSnapshot(ctx context.Context) error {
	err := s.exec(ctx, releaseSavepoint)
	if refused, ok := errors.AsType[*gomysql.MySQLError](err); ok && refused.Number == 1305 { // ER_SP_DOES_NOT_EXIST
		err = errSnapshot
	}
	if err != nil {
		s.close()
	}
	return err
}

// exec runs a statement that returns no rows.
func (s *session) exec(ctx context.Context, sql string) error {
	return guarded(func() error {
		_, err := s.conn.ExecContext(ctx, sql, nil)
		return err
	})
}

// prepare prepares a statement with the given number of parameters.
func (s *session) prepare(ctx context.Context, sql string, parameters int) (statement driver.Stmt, err error) {
	err = guarded(func() error {
		statement, err = s.conn.PrepareContext(ctx, sql)
		return err
	})
	if err != nil {
		return nil, err
	}
	if has := statement.NumInput(); has != parameters {
		return nil, errors.Join(fmt.Errorf("the statement has %d parameters", has), guarded(statement.Close))
	}
	return statement, nil
}

// prepared runs a statement in the binary protocol. The rows must be closed before the statement.
func (s *session) prepared(
	ctx context.Context, sql string, parameters ...string,
) (statement driver.Stmt, found driver.Rows, err error) {
	statement, err = s.prepare(ctx, sql, len(parameters))
	if err != nil {
		return nil, nil, err
	}
	values := make([]driver.NamedValue, len(parameters))
	for i, parameter := range parameters {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: parameter}
	}
	err = guarded(func() error {
		found, err = statement.(driver.StmtQueryContext).QueryContext(ctx, values)
		return err
	})
	if err != nil {
		return nil, nil, errors.Join(err, guarded(statement.Close))
	}
	return statement, found, nil
}

// anyColumns is for a statement with an unknown number of columns.
const anyColumns = -1

// query runs a statement of this package and returns its rows, with NULL as "". They must have that many columns.
func (s *session) query(
	ctx context.Context, columns int, sql string, parameters ...string,
) (all [][]string, err error) {
	var found driver.Rows
	if len(parameters) == 0 {
		err = guarded(func() error {
			found, err = s.conn.QueryContext(ctx, sql, nil) // in one round trip
			return err
		})
	} else {
		var statement driver.Stmt
		if statement, found, err = s.prepared(ctx, sql, parameters...); err == nil {
			defer func() { err = errors.Join(err, guarded(statement.Close)) }()
		}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, guarded(found.Close)) }()
	values := make([]driver.Value, len(found.Columns()))
	if columns != anyColumns && len(values) != columns {
		return nil, errAnswer
	}
	for {
		if err := guarded(func() error { return found.Next(values) }); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		row := make([]string, len(values))
		for i, value := range values {
			switch value := value.(type) {
			case nil:
			case []byte:
				row[i] = string(value)
			default:
				row[i] = fmt.Sprint(value)
			}
		}
		all = append(all, row)
	}
}

// close ends the session. A transaction that only reads has no outcome, so errors do not matter.
func (s *session) close() {
	s.gone = true
	_ = guarded(s.conn.Close)
}
