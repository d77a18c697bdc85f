package mysql

import (
	"context"
	"errors"

	"culvert/internal/mysqlconnect"
	"culvert/source/internal/sqlsource"
)

// session is a connection that is in a transaction.
type session struct {
	*mysqlconnect.Conn
	taken   string // when the snapshot was taken
	sqlMode string
}

func connect(ctx context.Context, settings *mysqlconnect.Settings) (*session, error) {
	conn, err := mysqlconnect.Connect(ctx, settings)
	if failed, ok := errors.AsType[*mysqlconnect.ConnectError](err); ok {
		return nil, sqlsource.Unavailable(failed.Error(), failed.Err)
	}
	if lost, ok := errors.AsType[*mysqlconnect.LostError](err); ok {
		return nil, sqlsource.Unavailable(lost.Error(), lost.Err)
	}
	if err != nil {
		return nil, err
	}
	s := &session{Conn: conn}
	if err := s.beginTransaction(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// beginSQL makes the settings and takes the snapshot. The settings concern values and timeouts, which get their longest
// values. MySQL and MariaDB each read a comment of their own. The session stays read-only even if a statement of the
// user ends the transaction.
var beginSQL = []string{
	`SET SESSION time_zone = '+00:00',
	sql_mode = REPLACE(@@sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', ''),
	sql_select_limit = 18446744073709551615,
	sql_big_selects = 1,
	sql_quote_show_create = 1,
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
		if err := s.Exec(ctx, sql); err != nil {
			return s.failed(ctx, doing, err)
		}
	}
	found, err := s.Query(ctx, 2, "SELECT UTC_TIMESTAMP(6), @@sql_mode")
	if err == nil && len(found) != 1 {
		err = mysqlconnect.ErrAnswer
	}
	if err != nil {
		return s.failed(ctx, doing, err)
	}
	s.taken, s.sqlMode = found[0][0], found[0][1]
	return nil
}

// Each statement that others have written runs between these two. If it ends the transaction, the savepoint is gone,
// and the second one fails.
const (
	setSavepoint     = "SAVEPOINT culvert"
	releaseSavepoint = "RELEASE SAVEPOINT culvert"
)

var errSnapshot = errors.New("the statement has ended the transaction and its snapshot")

// noSavepoint is ER_SP_DOES_NOT_EXIST.
const noSavepoint = 1305

// keepSnapshot checks after a statement that the snapshot still exists. If not, it closes the session.
func (s *session) keepSnapshot(ctx context.Context) error {
	err := s.Exec(ctx, releaseSavepoint)
	if refused := mysqlconnect.Refused(err); refused != nil && refused.Number == noSavepoint {
		err = errSnapshot
	}
	if err != nil {
		s.Close()
	}
	return err
}
