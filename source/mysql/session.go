package mysql

import (
	"bufio"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	gomysql "github.com/go-sql-driver/mysql"
)

// readBuffer is the size of reads from the network; the driver itself reads 4 KiB at a time.
const readBuffer = 256 << 10

// grace is how long the server has to take a KILL, after which it is left to find out by itself that nobody listens.
// Only tests change it.
var grace = 5 * time.Second

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
	network   net.Conn // below conn
	id        int64    // of the connection, as KILL takes it
	database  string   // "" if there is none
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
	opened, err := s.connector.Connect(ctx)
	if err != nil {
		return nil, connectFailed(ctx, settings, err)
	}
	s.conn = opened.(conn)
	if err := s.beginTransaction(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

func newConnector(settings *settings, dial dialer) (driver.Connector, error) {
	config := gomysql.NewConfig()
	config.Net, config.Addr = settings.place()
	config.User, config.Passwd, config.DBName = settings.user, settings.password, settings.database
	config.Timeout = settings.timeout
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

func (s *session) dial(ctx context.Context, network, address string) (net.Conn, error) {
	connected, err := (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if s.network != nil {
		return connected, nil // the second connection, for a KILL
	}
	s.network = connected
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

func (s *session) beginTransaction(ctx context.Context) error {
	const doing = "beginning the transaction"
	for _, sql := range beginSQL {
		if _, err := s.conn.ExecContext(ctx, sql, nil); err != nil {
			return s.failed(ctx, doing, err)
		}
	}
	found, err := s.query(ctx, "SELECT CONNECTION_ID(), VERSION(), @@lower_case_table_names, DATABASE()")
	if err != nil {
		return s.failed(ctx, doing, err)
	}
	if len(found) != 1 {
		return s.failed(ctx, doing, errAnswer)
	}
	if _, err := fmt.Sscan(found[0][0], &s.id); err != nil {
		return s.failed(ctx, doing, errAnswer)
	}
	s.isMariaDB = strings.Contains(strings.ToUpper(found[0][1]), "MARIADB")
	s.foldCase = found[0][2] != "0"
	s.database = found[0][3]
	return nil
}

var errAnswer = errors.New("the server did not answer as it was asked")

// prepared runs a statement in the binary protocol. The rows must be closed before the statement.
func (s *session) prepared(ctx context.Context, sql string, parameters ...string) (driver.Stmt, driver.Rows, error) {
	statement, err := s.conn.PrepareContext(ctx, sql)
	if err != nil {
		return nil, nil, err
	}
	if want := statement.NumInput(); want != len(parameters) {
		return nil, nil, errors.Join(fmt.Errorf("the statement has %d parameters", want), statement.Close())
	}
	values := make([]driver.NamedValue, len(parameters))
	for i, parameter := range parameters {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: parameter}
	}
	found, err := statement.(driver.StmtQueryContext).QueryContext(ctx, values)
	if err != nil {
		return nil, nil, errors.Join(err, statement.Close())
	}
	return statement, found, nil
}

// query runs a statement of ours and gives its rows, with NULL as "".
func (s *session) query(ctx context.Context, sql string, parameters ...string) (all [][]string, err error) {
	var found driver.Rows
	if len(parameters) == 0 {
		found, err = s.conn.QueryContext(ctx, sql, nil) // in one round trip
	} else {
		var statement driver.Stmt
		if statement, found, err = s.prepared(ctx, sql, parameters...); err == nil {
			defer func() { err = errors.Join(err, statement.Close()) }()
		}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	values := make([]driver.Value, len(found.Columns()))
	for {
		if err := found.Next(values); err == io.EOF {
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

// interrupt has the server end the statement that gives rows, and drops those that are still on the way. If that fails,
// or takes longer than the grace, the connection is given up.
func (s *session) interrupt(statement driver.Stmt, found driver.Rows) {
	deadline := time.Now().Add(grace)
	err := s.network.SetDeadline(deadline)
	if err == nil {
		err = s.sendKill("QUERY")
	}
	if err == nil {
		err = ignoreInterrupted(found.Close())
	}
	if err == nil {
		err = statement.Close()
	}
	if err == nil {
		// The KILL may have found the statement at its end, and would hit the next one.
		_, err = s.conn.ExecContext(context.Background(), "DO 0", nil)
		err = ignoreInterrupted(err)
	}
	if err == nil {
		err = s.network.SetDeadline(time.Time{})
	}
	if err != nil {
		s.close()
	}
}

// kill gives the connection up, and has the server end what still runs on it. The server would find out by itself only
// when it has rows to send. Whether it takes the KILL does not matter to anyone here.
func (s *session) kill() {
	s.close()
	_ = s.sendKill("CONNECTION")
}

// sendKill kills the connection, or the query that it runs, from a second connection, within the grace.
func (s *session) sendKill(what string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	second, err := s.connector.Connect(ctx)
	if err != nil {
		return err
	}
	_, err = second.(conn).ExecContext(ctx, fmt.Sprintf("KILL %s %d", what, s.id), nil)
	return errors.Join(err, second.Close())
}

// close ends the session. A transaction that only reads has no outcome, so that no error matters.
func (s *session) close() {
	s.gone = true
	_ = s.conn.Close()
}
