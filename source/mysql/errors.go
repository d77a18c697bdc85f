package mysql

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

func connectFailed(ctx context.Context, s *settings, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mysql: connecting: %w", ctx.Err())
	}
	_, address := s.place()
	why := err.Error()
	switch {
	case errors.Is(err, gomysql.ErrInvalidConn):
		why = "the server is not one of MySQL, or has closed the connection"
	case errors.Is(err, gomysql.ErrNoTLS):
		why = "the server has no TLS"
	case errors.Is(err, gomysql.ErrCleartextPassword):
		why = "the server wants the password in clear text, which is not supported"
	}
	if unverified, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		why = unverified.Error()
	}
	return &unavailableError{
		text: fmt.Sprintf("mysql: cannot connect to database %q on %s as user %q: %s",
			s.database, address, s.user, strings.TrimSpace(why)),
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
	if !s.gone && s.conn.IsValid() {
		return fmt.Errorf("mysql: %s: %w", doing, err)
	}
	s.close()
	cause := cmp.Or(unjoined(err), err)
	return &unavailableError{fmt.Sprintf("mysql: %s: lost the connection: %v", doing, cause), cause}
}

// unjoined is the first of errors that were joined, or nil.
func unjoined(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
		return joined.Unwrap()[0]
	}
	return nil
}

// ignoreInterrupted drops the error that a KILL QUERY leads to: ER_QUERY_INTERRUPTED.
func ignoreInterrupted(err error) error {
	if refused, ok := errors.AsType[*gomysql.MySQLError](err); ok && refused.Number == 1317 {
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
