package mysql

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	gomysql "github.com/go-sql-driver/mysql"

	"culvert/source/internal/sqlsource"
	"culvert/source/mysql/internal/address"
)

var errClosed = errors.New("mysql: the rows are closed")

// driverError is an error of the driver, after which its connection cannot be used.
type driverError struct{ error }

func (e driverError) Unwrap() error { return e.error }

// errUnreadable replaces a panic of the driver, which trusts the lengths that the server sends.
var errUnreadable = errors.New("the server sent a malformed packet")

// guarded calls the driver. Its errors are errors of the server, io.EOF and driverErrors.
func guarded(call func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = driverError{errUnreadable}
		}
	}()
	err = call()
	if err == nil || err == io.EOF || errors.Is(err, gomysql.ErrPktTooLarge) {
		return err // with ErrPktTooLarge, nothing was sent
	}
	if _, refused := errors.AsType[*gomysql.MySQLError](err); refused {
		return err
	}
	return driverError{err}
}

func connectFailed(ctx context.Context, s *address.Settings, err error) error {
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
	return sqlsource.Unavailable(
		fmt.Sprintf("mysql: cannot connect to %s as user %q: %s", where, s.User, strings.TrimSpace(why)), err)
}

// failed explains an error of what was being done. If the context has ended, it also ends the statement on the server.
// It returns nil for nil.
func (s *session) failed(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		if !s.gone {
			s.kill()
		}
		return fmt.Errorf("mysql: %s: %w", doing, ctx.Err())
	}
	if refused, ok := errors.AsType[*gomysql.MySQLError](err); ok {
		// Without joined errors, which only follow from this one.
		explained := fmt.Errorf("mysql: %s: %w", doing, refused)
		if slices.Contains(endsSession, refused.Number) {
			s.close()
			return sqlsource.Unavailable(explained.Error(), refused)
		}
		return explained
	}
	lost, ok := errors.AsType[driverError](err)
	switch {
	case ok:
	case errors.Is(err, io.EOF): // a packet is shorter than its length says
		lost = driverError{errUnreadable}
	default:
		return fmt.Errorf("mysql: %s: %w", doing, err)
	}
	s.close()
	return sqlsource.Unavailable(fmt.Sprintf("mysql: %s: lost the connection: %v", doing, lost), lost)
}

// ignoreRefusal returns nil for an error that concerns only a statement, such as the end by a KILL, and not the
// connection.
func ignoreRefusal(err error) error {
	refused, ok := errors.AsType[*gomysql.MySQLError](err)
	if ok && !slices.Contains(endsSession, refused.Number) {
		return nil
	}
	return err
}

// endsSession are the errors after which the server closes the connection: ER_CON_COUNT_ERROR, ER_SERVER_SHUTDOWN,
// ER_ABORTING_CONNECTION, ER_NEW_ABORTING_CONNECTION, ER_CONNECTION_KILLED, ER_SESSION_WAS_KILLED and
// ER_CLIENT_INTERACTION_TIMEOUT, in the error references of MySQL ("Server Error Message Reference") and MariaDB
// ("MariaDB Error Code Reference").
var endsSession = []uint16{1040, 1053, 1152, 1184, 1927, 3169, 4031}
