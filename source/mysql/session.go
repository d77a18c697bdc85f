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
	"time"

	gomysql "github.com/go-sql-driver/mysql"
)

// readBuffer is the size of reads from the network; the driver itself reads 4 KiB at a time.
const readBuffer = 256 << 10

// keepAlive finds out within two minutes that the peer is gone while nothing is sent, as in a long query.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4}

// conn is what is used of a connection of the driver. Package database/sql would add a pool, which has no use for a
// transaction, and another copy of each row.
type conn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.QueryerContext
	driver.ExecerContext
	driver.Validator
}

// session is one connection inside of a transaction.
type session struct {
	connector driver.Connector
	conn      conn
	dialed    net.Conn // last
	network   net.Conn // below conn
	id        int64    // of the connection, as KILL takes it; 0 if it has none
	server    string   // which one it is
	started   int64    // when the server was, in seconds by its own clock
	version   string
	taken     string // when the snapshot was
	database  string // "" if there is none
	isMariaDB bool
	foldCase  bool // of the names of tables
	gone      bool
}

func connect(ctx context.Context, settings *settings) (*session, error) {
	s := &session{}
	var err error
	if s.connector, err = newConnector(settings, s.dial); err != nil {
		return nil, err
	}
	limited := ctx
	if settings.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, settings.timeout)
		defer cancel()
	}
	if s.conn, err = s.connect(limited); err != nil {
		if limited.Err() != nil {
			err = fmt.Errorf("there was no answer within %v", settings.timeout)
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
		_ = s.dialed.Close() // which the driver could not; the server is to blame, and that is the error
	}
	return opened, err
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

func newConnector(settings *settings, dial dialer) (driver.Connector, error) {
	config := gomysql.NewConfig()
	config.Net, config.Addr = settings.place()
	config.User, config.Passwd, config.DBName = settings.user, settings.password, settings.database
	config.Logger = &gomysql.NopLogger{}
	config.ConnectionAttributes = "program_name:culvert"
	config.DialFunc = dial
	var err error
	config.TLS, config.AllowFallbackToPlaintext, err = settings.tlsConfig()
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

// dial connects. The second connection, for a KILL, goes where the first one has come out, since a name may stand for
// several servers.
func (s *session) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.network != nil {
		network, address = s.network.RemoteAddr().Network(), s.network.RemoteAddr().String()
	}
	connected, err := (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext(ctx, network, address)
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

// beginSQL makes the settings and takes the snapshot. The settings are those that bear on values or on the time that
// reading may take, with the longest times there are. MySQL and MariaDB each read a comment of their own. That the
// session is read only outlives the transaction, should a statement of the user end it.
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

// serverStart returns when the server was started, in seconds by its own clock, give or take one or two; 0 if it does
// not tell.
func (s *session) serverStart(ctx context.Context) (int64, error) {
	var numbers [2]int64
	for i, sql := range []string{"SHOW GLOBAL STATUS LIKE 'Uptime'", "SELECT UNIX_TIMESTAMP()"} {
		found, err := s.query(ctx, anyColumns, sql)
		if _, refused := errors.AsType[*gomysql.MySQLError](err); refused && ctx.Err() == nil {
			return 0, nil // by a proxy, perhaps
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

var errAnswer = errors.New("the server did not answer as it was asked")

// Between these two stands each statement that others have written. A transaction that ends takes its savepoints with
// it, so that the second one fails.
const (
	setSavepoint     = "SAVEPOINT culvert"
	releaseSavepoint = "RELEASE SAVEPOINT culvert"
)

var errSnapshot = errors.New("the statement has ended the transaction, so that the snapshot is gone")

// keepSnapshot makes sure after a statement that the snapshot is still there, or gives up the session.
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

// exec runs a statement that gives no rows.
func (s *session) exec(ctx context.Context, sql string) error {
	return guarded(func() error {
		_, err := s.conn.ExecContext(ctx, sql, nil)
		return err
	})
}

// prepare prepares a statement with so many parameters.
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

// anyColumns is for a statement of which it is not known how many columns it has.
const anyColumns = -1

// query runs a statement of ours and gives its rows, of so many columns, with NULL as "".
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

// close ends the session. A transaction that only reads has no outcome, so that no error matters.
func (s *session) close() {
	s.gone = true
	_ = guarded(s.conn.Close)
}
