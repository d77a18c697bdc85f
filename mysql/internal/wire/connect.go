// Package wire connects to MySQL and MariaDB servers, for the packages that read and fill their tables. It
// reads addresses as the programs of MySQL do, and ends statements on the server if their connection is given up.
//
//	settings, err := wire.Resolve("mysql://reader@db.example.com/shop")
//	…
//	conn, err := wire.Connect(ctx, settings)
//	…
//	defer conn.Close()
package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	gomysql "github.com/go-sql-driver/mysql"

	"culvert/source"
)

// readBuffer is the size of reads from the network. The driver itself reads 4 KiB at a time.
const readBuffer = 256 << 10

// writeBuffer is the size of writes to it. The driver itself writes a packet of LOAD DATA at a time.
const (
	writeBuffer  = 128 << 10
	driverPacket = 16 << 10
)

// keepAlive detects within two minutes that the peer is gone while nothing is sent, such as during a long statement.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4}

// driverConn is a connection of the driver. Package database/sql would add a pool, which a single transaction does not
// need, and another copy of each row.
type driverConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.QueryerContext
	driver.ExecerContext
	driver.Validator
}

// Conn is a connection. It must be used by one goroutine at a time.
type Conn struct {
	ID      int64  // the number of the connection for KILL; 0 if it has none
	Server  string // identifies the server, even among servers with the same data
	Version string

	// Settings of the session when it began, and of the server.
	IsMariaDB bool
	FoldCase  bool   // letter case does not count in table names
	Database  string // "" if none is opened
	Gone      bool   // closed

	connector driver.Connector
	conn      driverConn
	dialed    net.Conn // the last one
	network   net.Conn // below conn
	started   int64    // when the server was started, in seconds by its own clock
}

// Connect opens a connection, and asks the server what it is. The error is a [*ConnectError] if the server cannot be
// reached or refuses the user, and otherwise one that [Explain] explains.
func Connect(ctx context.Context, settings *Settings) (*Conn, error) {
	c := &Conn{}
	var err error
	if c.connector, err = newConnector(settings, c.dial); err != nil {
		return nil, err
	}
	limited := ctx
	if settings.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, settings.Timeout)
		defer cancel()
	}
	if c.conn, err = c.connect(limited); err != nil {
		if limited.Err() != nil {
			err = fmt.Errorf("no answer within %v", settings.Timeout)
		}
		return nil, connectFailed(ctx, settings, err)
	}
	c.network = c.dialed
	if err := c.identify(ctx); err != nil {
		err = c.Explain(ctx, "asking for the version", err)
		if !c.Gone {
			c.Close()
		}
		return nil, err
	}
	return c, nil
}

// connect opens a connection of the driver.
func (c *Conn) connect(ctx context.Context) (opened driverConn, err error) {
	err = Guarded(func() error {
		conn, err := c.connector.Connect(ctx)
		if err == nil {
			opened = conn.(driverConn)
		}
		return err
	})
	if errors.Is(err, errUnreadable) {
		_ = c.dialed.Close() // the driver did not reach its own Close; the error is the server's
	}
	return opened, err
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

func newConnector(settings *Settings, dial dialer) (driver.Connector, error) {
	config := gomysql.NewConfig()
	config.Net, config.Addr = settings.Server()
	config.User, config.Passwd, config.DBName = settings.User, settings.Password, settings.Database
	config.Logger = &gomysql.NopLogger{}
	config.ConnectionAttributes = "program_name:culvert"
	config.DialFunc, config.MultiStatements = dial, settings.Several
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
func (c *Conn) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.network != nil {
		network, address = c.network.RemoteAddr().Network(), c.network.RemoteAddr().String()
	}
	connected, err := (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.dialed = connected
	if c.network != nil {
		return connected, nil
	}
	return &bufferedConn{
		connected, bufio.NewReaderSize(connected, readBuffer), bufio.NewWriterSize(connected, writeBuffer),
	}, nil
}

// bufferedConn is a connection that reads ahead. It gathers what is as large as the packets of LOAD DATA. The driver
// sends an empty one after them, and reads the answer to everything else.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
	writer *bufio.Writer
}

func (c *bufferedConn) Read(p []byte) (int, error) {
	if err := c.writer.Flush(); err != nil {
		return 0, err
	}
	return c.reader.Read(p)
}

func (c *bufferedConn) Write(p []byte) (int, error) {
	n, err := c.writer.Write(p)
	if err == nil && len(p) < driverPacket {
		err = c.writer.Flush()
	}
	return n, err
}

// SetDeadline sets the time at which the connection fails, if it still waits for the server then. The zero time is
// none.
func (c *Conn) SetDeadline(t time.Time) error { return c.network.SetDeadline(t) }

// Close closes the connection, which ends its transaction. Its errors do not matter: they leave it closed too.
func (c *Conn) Close() {
	c.Gone = true
	_ = Guarded(c.conn.Close)
}

// ConnectError is the error of a server that cannot be reached, or refuses the user, the password or the database. It
// is a [source.ErrUnavailable], and does not contain the password.
type ConnectError struct {
	text string
	Err  error

	User, Database string
	Server         string // its host and port, or the path of its socket

	// NoPassword reports whether no password was found anywhere, and the server wants one.
	NoPassword bool
}

func (e *ConnectError) Error() string { return e.text }

// Unwrap returns [source.ErrUnavailable] and the cause.
func (e *ConnectError) Unwrap() []error { return []error{source.ErrUnavailable, e.Err} }

func connectFailed(ctx context.Context, s *Settings, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mysql: connecting: %w", ctx.Err())
	}
	_, server := s.Server()
	where, why := server, err.Error()
	switch {
	case errors.Is(err, gomysql.ErrInvalidConn), errors.Is(err, errUnreadable):
		why = "it is not a MySQL server, or it has closed the connection"
	case errors.Is(err, gomysql.ErrNoTLS):
		why = "the server has no TLS"
	case errors.Is(err, gomysql.ErrCleartextPassword):
		why = "the server asks for the password in clear text, which is not supported"
	}
	if unverified, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		why = unverified.Error()
	}
	if s.Database != "" {
		where = fmt.Sprintf("database %q on %s", s.Database, server)
	}
	const accessDenied = 1045
	refused, is := errors.AsType[*gomysql.MySQLError](err)
	return &ConnectError{
		text: fmt.Sprintf("mysql: cannot connect to %s as user %q: %s", where, s.User, strings.TrimSpace(why)),
		Err:  err, User: s.User, Database: s.Database, Server: server,
		NoPassword: is && refused.Number == accessDenied && s.Password == "",
	}
}
