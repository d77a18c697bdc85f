package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"
)

// keepAlive detects within two minutes that the peer is gone while nothing is sent, such as during a long statement.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4}

// Connect opens a connection. A statement whose context ends is canceled; if that takes longer than grace, the
// connection is closed. The error is a [*ConnectError], or the error of the context.
func Connect(ctx context.Context, config *pgconn.Config, grace time.Duration) (*pgconn.PgConn, error) {
	config = config.Copy()
	config.DialFunc = (&net.Dialer{Timeout: config.ConnectTimeout, KeepAliveConfig: keepAlive}).DialContext
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &canceler{conn: conn, grace: grace}
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "culvert"
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, connectFailed(ctx, config, err)
	}
	return conn, nil
}

// ConnectError is the error of a server that cannot be reached, or refuses the user, the password or the database. It
// does not contain the password.
type ConnectError struct {
	text string
	Err  error

	User, Database string
	Server         string // its host and port, or the path of its socket

	// Entry is what was looked for in the password file, HOST:PORT:DATABASE:USER, if no password was found anywhere and
	// the server wants one; otherwise "".
	Entry string
}

func (e *ConnectError) Error() string { return e.text }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

func connectFailed(ctx context.Context, config *pgconn.Config, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("postgres: connecting: %w", ctx.Err())
	}
	cause := err
	if failed, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		cause = failed.Unwrap() // without the configuration, which holds the password
	}
	// One line for each address, with and without TLS. Most are the same.
	var tried []string
	for line := range strings.Lines(cause.Error()) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.Contains(tried, line) {
			tried = append(tried, line)
		}
	}
	// Without TLS, the server has said more.
	if said := slices.DeleteFunc(slices.Clone(tried), refusesTLS); len(said) > 0 {
		tried = said
	}
	database := cmp.Or(config.Database, config.User)
	failed := &ConnectError{
		text: fmt.Sprintf("postgres: cannot connect to database %q as user %q: %s", database, config.User,
			strings.Join(tried, "; ")),
		Err: cause, User: config.User, Database: database, Server: server(config),
	}
	if config.Password == "" && Code(cause) == codeInvalidPassword {
		host := config.Host
		if strings.HasPrefix(host, "/") {
			host = "localhost" // as a socket is called in the password file
		}
		failed.Entry = fmt.Sprintf("%s:%d:%s:%s", host, config.Port, database, config.User)
	}
	return failed
}

// server returns the address of the first server of the configuration.
func server(config *pgconn.Config) string {
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	if network == "unix" {
		return address
	}
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
}

// refusesTLS reports whether an attempt to connect has failed since the server has no TLS.
func refusesTLS(line string) bool { return strings.HasSuffix(line, "server refused TLS connection") }

const codeInvalidPassword = "28P01"

// Code returns the SQLSTATE of an error of the server, or "".
func Code(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	return ""
}

// Close ends the transaction with a statement that rolls it back, and closes the connection, within grace. If it can,
// it waits for the server to end the session, which counts against the limits of connections until then. Errors do not
// matter, as nothing is committed.
func Close(conn *pgconn.PgConn, end string, grace time.Duration) {
	ended := time.NewTimer(grace)
	defer ended.Stop()
	if !conn.IsClosed() {
		_ = conn.Conn().SetDeadline(time.Now().Add(grace))
		// A connection pooler drops a server connection whose client leaves within a transaction.
		_ = conn.Exec(context.Background(), end).Close()
	}
	if !conn.IsClosed() {
		conn.Frontend().Send(&pgproto3.Terminate{})
		if conn.Frontend().Flush() == nil {
			_, _ = io.Copy(io.Discard, conn.Conn())
		}
		_ = conn.Close(context.Background())
	}
	select {
	case <-conn.CleanupDone():
	case <-ended.C:
		_ = conn.Conn().Close()
	}
}

// EndsSession reports whether the connection has ended with an error: it was ended by a pooler (08P01), by an
// administrator or a crash (57P01, 57P02), the server is not ready (57P03), or the server calls the error fatal. Other
// errors of class 08 are about connections that the server makes itself, as for foreign tables.
func EndsSession(e *pgconn.PgError) bool {
	return slices.Contains([]string{"08P01", "57P01", "57P02", "57P03"}, e.Code) ||
		e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC"
}

// IsRefusal reports whether the server has refused a statement, but not closed the connection.
func IsRefusal(ctx context.Context, err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && ctx.Err() == nil && !EndsSession(refused)
}
