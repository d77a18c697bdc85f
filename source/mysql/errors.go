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

	"culvert/source"
)

var errClosed = errors.New("mysql: the rows are closed")

// unavailableError is a [source.ErrUnavailable] that says why in its own words.
type unavailableError struct {
	text  string
	cause error
}

func (e *unavailableError) Error() string   { return e.text }
func (e *unavailableError) Unwrap() []error { return []error{source.ErrUnavailable, e.cause} }

// driverError is an error of the driver, after which its connection is of no use.
type driverError struct{ error }

func (e driverError) Unwrap() error { return e.error }

// errUnreadable stands for a panic of the driver, which trusts the server to send as many bytes as it says.
var errUnreadable = errors.New("the server sent something that cannot be read")

// guarded calls the driver. The errors are those of the server, io.EOF, and driverErrors.
func guarded(call func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = driverError{errUnreadable}
		}
	}()
	err = call()
	if err == nil || err == io.EOF || errors.Is(err, gomysql.ErrPktTooLarge) {
		return err // the statement is too large, and was not sent
	}
	if _, refused := errors.AsType[*gomysql.MySQLError](err); refused {
		return err
	}
	return driverError{err}
}

func connectFailed(ctx context.Context, s *settings, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mysql: connecting: %w", ctx.Err())
	}
	_, address := s.place()
	why := err.Error()
	switch {
	case errors.Is(err, gomysql.ErrInvalidConn), errors.Is(err, errUnreadable):
		why = "the server is not one of MySQL, or has closed the connection"
	case errors.Is(err, gomysql.ErrNoTLS):
		why = "the server has no TLS"
	case errors.Is(err, gomysql.ErrCleartextPassword):
		why = "the server wants the password in clear text, which is not supported"
	}
	if unverified, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		why = unverified.Error()
	}
	where := address
	if s.database != "" {
		where = fmt.Sprintf("database %q on %s", s.database, address)
	}
	return &unavailableError{
		text:  fmt.Sprintf("mysql: cannot connect to %s as user %q: %s", where, s.user, strings.TrimSpace(why)),
		cause: err,
	}
}

// failed explains why something that was being done has failed, and ends on the server what the context has ended
// here. Nil stays nil.
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
		// Without the join, which may hold errors that only follow from this one.
		explained := fmt.Errorf("mysql: %s: %w", doing, refused)
		if slices.Contains(endsSession, refused.Number) {
			s.close()
			return &unavailableError{explained.Error(), refused}
		}
		return explained
	}
	lost, ok := errors.AsType[driverError](err)
	switch {
	case ok:
	case errors.Is(err, io.EOF): // a packet that is shorter than it says
		lost = driverError{errUnreadable}
	default:
		return fmt.Errorf("mysql: %s: %w", doing, err)
	}
	s.close()
	return &unavailableError{fmt.Sprintf("mysql: %s: lost the connection: %v", doing, lost), lost}
}

// ignoreRefusal drops an error that is about a statement, such as that a KILL has ended it, and not about the
// connection.
func ignoreRefusal(err error) error {
	refused, ok := errors.AsType[*gomysql.MySQLError](err)
	if ok && !slices.Contains(endsSession, refused.Number) {
		return nil
	}
	return err
}

// endsSession are the errors that say that the connection is over, whatever else works: too many connections, shutdown,
// aborted, killed, and disconnected for being idle or by an administrator. Names and numbers are in the error
// references of MySQL ("Server Error Message Reference") and MariaDB ("MariaDB Error Code Reference").
var endsSession = []uint16{
	1040, // ER_CON_COUNT_ERROR
	1053, // ER_SERVER_SHUTDOWN
	1152, // ER_ABORTING_CONNECTION
	1184, // ER_NEW_ABORTING_CONNECTION
	1927, // ER_CONNECTION_KILLED
	3169, // ER_SESSION_WAS_KILLED
	4031, // ER_CLIENT_INTERACTION_TIMEOUT
}
