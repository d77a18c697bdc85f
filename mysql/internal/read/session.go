package read

import (
	"context"
	"errors"
	"fmt"

	"culvert/mysql/internal/wire"
)

// session is a connection that is in a transaction.
type session struct {
	*wire.Conn
	taken     string // when the snapshot was taken
	sqlMode   string
	unguarded bool // no savepoint could be set before the last statement

	names map[string]*facts // of tables, by the names that they were asked for by: see Prepare
	facts map[string]*facts // the same, by their keys

	listed    map[string][][]string // what list found, by the database that was asked for
	drawing   map[string][][]string // what defaultsOf found, by database
	converted map[string]bool       // whether texts of a character set survive, for those that were asked for
}

// connect connects and makes the settings. The session is in no transaction yet.
func connect(ctx context.Context, settings *wire.Settings) (*session, error) {
	conn, err := wire.Connect(ctx, settings)
	if err != nil {
		return nil, err
	}
	s := &session{Conn: conn}
	for _, sql := range settingsSQL {
		if err := s.Exec(ctx, sql); err != nil {
			err = s.Explain(ctx, "making the settings", err)
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// settingsSQL concerns values and timeouts, which get their longest values. MySQL and MariaDB each read a comment of
// their own. The session stays read-only even if a statement of the user ends the transaction.
var settingsSQL = []string{
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
}

const beginning = "beginning the transaction"

// begin takes the snapshot, in one round trip. A transaction before it ends.
func (s *session) begin(ctx context.Context) error {
	return s.Explain(ctx, beginning, s.Exec(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"))
}

// begun asks what is to be known of a transaction that has just begun.
func (s *session) begun(ctx context.Context) error {
	found, err := s.Query(ctx, 2, "SELECT UTC_TIMESTAMP(6), @@sql_mode")
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err != nil {
		return s.Explain(ctx, beginning, err)
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

// setTransaction is refused in a transaction, and otherwise changes nothing that counts.
const setTransaction = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"

var errSnapshot = errors.New("the statement has ended the transaction and its snapshot")

// The errors ER_SP_DOES_NOT_EXIST, ER_CHECK_NOT_IMPLEMENTED and ER_CANT_CHANGE_TX_CHARACTERISTICS.
const (
	noSavepoint     = 1305
	noSavepoints    = 1178
	stillInProgress = 1568
)

// guardSnapshot precedes a statement, after which keepSnapshot checks that the snapshot still exists. Once a table of
// Aria was read, MariaDB refuses savepoints until the transaction ends.
func (s *session) guardSnapshot(ctx context.Context) error {
	err := s.Exec(ctx, setSavepoint)
	refused := wire.Refused(err)
	s.unguarded = refused != nil && refused.Number == noSavepoints
	if s.unguarded {
		return nil
	}
	return err
}

// keepSnapshot checks after a statement that the snapshot still exists. If not, it closes the session. Without a
// savepoint, any transaction is taken for the one of the snapshot.
func (s *session) keepSnapshot(ctx context.Context) error {
	var err error
	if s.unguarded {
		err = s.Exec(ctx, setTransaction)
		if refused := wire.Refused(err); refused != nil && refused.Number == stillInProgress {
			return nil
		} else if err == nil {
			err = errSnapshot
		}
	} else {
		err = s.Exec(ctx, releaseSavepoint)
		if refused := wire.Refused(err); refused != nil && refused.Number == noSavepoint {
			err = errSnapshot
		}
	}
	if err != nil {
		s.Close()
	}
	return err
}

// checkUnguarded refuses a statement without a savepoint, unless the server can explain it: others, such as CALL, can
// end the transaction and begin another one, which keepSnapshot would not notice.
func (s *session) checkUnguarded(ctx context.Context, sql string) error {
	if !s.unguarded {
		return nil
	}
	statement, err := s.Prepare(ctx, "EXPLAIN "+sql, 0)
	if refused := wire.Refused(err); refused != nil {
		return fmt.Errorf("after a table of Aria was read, only a SELECT can follow in the same snapshot; "+
			"run this statement before it, or alone (EXPLAIN: %s)", refused.Message)
	}
	if err == nil {
		err = wire.Guarded(statement.Close)
	}
	return err
}
