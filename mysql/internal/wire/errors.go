package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	gomysql "github.com/go-sql-driver/mysql"

	"culvert/source"
)

// DriverError is an error of the driver, after which its connection cannot be used.
type DriverError struct{ error }

// Unwrap returns the cause.
func (e DriverError) Unwrap() error { return e.error }

// errUnreadable replaces a panic of the driver, which trusts the lengths that the server sends.
var errUnreadable = errors.New("the server sent a malformed packet")

// ErrUnreadable is the error of an answer that cannot be read.
var ErrUnreadable error = DriverError{errUnreadable}

// ErrAnswer is the error of an answer that has another form than the statement asks for.
var ErrAnswer = errors.New("the server sent an unexpected answer")

// Guarded calls the driver. Its errors are errors of the server, io.EOF and DriverErrors.
func Guarded(call func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = ErrUnreadable
		}
	}()
	err = call()
	if err == nil || err == io.EOF || errors.Is(err, gomysql.ErrPktTooLarge) {
		return err // with ErrPktTooLarge, nothing was sent
	}
	if _, refused := errors.AsType[*gomysql.MySQLError](err); refused {
		return err
	}
	return DriverError{err}
}

// LostError is the error of a connection that has ended, a [source.ErrUnavailable].
type LostError struct {
	Text string
	Err  error // the cause
}

func (e *LostError) Error() string { return e.Text }

// Unwrap returns [source.ErrUnavailable] and the cause.
func (e *LostError) Unwrap() []error { return []error{source.ErrUnavailable, e.Err} }

// Explain explains an error of what was being done. If the context has ended, it also ends the statement on the server.
// After a [*LostError], the connection is closed. It returns nil for nil.
func (c *Conn) Explain(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		if !c.Gone {
			c.Kill()
		}
		return fmt.Errorf("mysql: %s: %w", doing, ctx.Err())
	}
	if refused, ok := errors.AsType[*gomysql.MySQLError](err); ok {
		// Without joined errors, which only follow from this one.
		explained := &refusedError{doing, refused}
		if slices.Contains(endsSession, refused.Number) {
			c.Close()
			return &LostError{explained.Error(), refused}
		}
		return explained
	}
	lost, ok := errors.AsType[DriverError](err)
	switch {
	case ok:
	case errors.Is(err, io.EOF): // a packet is shorter than its length says
		lost = DriverError{errUnreadable}
	default:
		return fmt.Errorf("mysql: %s: %w", doing, err)
	}
	c.Close()
	return &LostError{fmt.Sprintf("mysql: %s: lost the connection: %v", doing, lost), lost}
}

// refusedError is what the server says of a statement.
type refusedError struct {
	doing   string
	refused *gomysql.MySQLError
}

func (e *refusedError) Error() string { return fmt.Sprintf("mysql: %s: %v", e.doing, e.refused) }

func (e *refusedError) Unwrap() error { return e.refused }

// Is reports whether others have locked what the statement needs for too long (ER_LOCK_WAIT_TIMEOUT).
func (e *refusedError) Is(target error) bool {
	const lockWaitTimeout = 1205
	return target == source.ErrLocked && e.refused.Number == lockWaitTimeout
}

// Redacted is for [source.Redacted].
func (e *refusedError) Redacted() error {
	refused := *e.refused
	refused.Message = source.HiddenMessage
	return &refusedError{e.doing, &refused}
}

// Refused returns the error of a server that has refused a statement, and not closed the connection. Otherwise it is
// nil.
func Refused(err error) *gomysql.MySQLError {
	refused, ok := errors.AsType[*gomysql.MySQLError](err)
	if !ok || slices.Contains(endsSession, refused.Number) {
		return nil
	}
	return refused
}

// ErrorNumber returns the number of the server's error, or 0.
func ErrorNumber(err error) int {
	if refused, is := errors.AsType[*gomysql.MySQLError](err); is {
		return int(refused.Number)
	}
	return 0
}

// IgnoreRefusal returns nil for an error that concerns only a statement, such as the end by a KILL, and not the
// connection.
func IgnoreRefusal(err error) error {
	if Refused(err) != nil {
		return nil
	}
	return err
}

// endsSession are the errors after which the server closes the connection: ER_CON_COUNT_ERROR, ER_SERVER_SHUTDOWN,
// ER_ABORTING_CONNECTION, ER_NEW_ABORTING_CONNECTION, ER_CONNECTION_KILLED, ER_SESSION_WAS_KILLED and
// ER_CLIENT_INTERACTION_TIMEOUT, in the error references of MySQL ("Server Error Message Reference") and MariaDB
// ("MariaDB Error Code Reference").
var endsSession = []uint16{1040, 1053, 1152, 1184, 1927, 3169, 4031}

// wrong are the warnings of a value that is not what a statement asks for: ER_CUT_VALUE_GROUP_CONCAT, and
// ER_WARN_ALLOWED_PACKET_OVERFLOWED, after which a value is NULL.
var wrong = []string{"1260", "1301"}

// Warned returns the first of these warnings of the last statement as the error that it should be, or nil. The server
// keeps the first 64 warnings, or as many as max_error_count says.
func (c *Conn) Warned(ctx context.Context) error {
	found, err := c.Query(ctx, 3, "SHOW WARNINGS")
	if err != nil {
		return err
	}
	for _, row := range found {
		if number, err := strconv.ParseUint(row[1], 10, 16); err == nil && slices.Contains(wrong, row[1]) {
			return &gomysql.MySQLError{Number: uint16(number), Message: row[2]}
		}
	}
	return nil
}
