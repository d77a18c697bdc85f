package read

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
)

// lock keeps all transactions of a server from being committed. A connection of its own holds it: if that ends, the
// server releases the lock.
type lock struct {
	conn  *wire.Conn
	end   []string  // the statements that release it
	since time.Time // when the first statement was sent for which others may wait
}

// withStages is the first version of MariaDB with stages of a backup, 10.4. Only tests change it.
var withStages = 1004

// withInstance is the first version of MySQL with LOCK INSTANCE, 8.0.
const withInstance = 800

const lockInstance = "LOCK INSTANCE FOR BACKUP"

// locking returns the statements of the lock. The first keeps nobody from reading and writing rows.
//
// MariaDB has stages of a backup. BLOCK_COMMIT waits only for commits, and not for statements that run. The stages
// before it are given too, since the server would run those that are left out. START waits for other backups. Elsewhere
// the lock waits for every statement that writes, and in MySQL for all that read, too (mysqldump and mydumper use the
// same statements). So MySQL first waits until no definition is being changed, and lets no other change begin.
func locking(c *wire.Conn) (before string, take, end []string) {
	take, end = []string{"FLUSH TABLES WITH READ LOCK"}, []string{"UNLOCK TABLES"}
	var major, minor int
	_, err := fmt.Sscanf(c.Version, "%d.%d", &major, &minor)
	switch version := 100*major + minor; {
	case err == nil && c.IsMariaDB && version >= withStages:
		return "BACKUP STAGE START",
			[]string{"BACKUP STAGE FLUSH", "BACKUP STAGE BLOCK_DDL", "BACKUP STAGE BLOCK_COMMIT"},
			[]string{"BACKUP STAGE END"}
	case err == nil && !c.IsMariaDB && version >= withInstance:
		return lockInstance, take, append(end, "UNLOCK INSTANCE")
	}
	return "", take, end
}

// busyError is the error of a server on which a statement runs that the lock would have to wait for.
type busyError struct{ seconds string }

func (e *busyError) Error() string { return "a statement has been running for " + e.seconds + " s" }

// refuseBusy returns an error if a statement has been running for longer than wait. FLUSH TABLES would wait for that
// statement. Even if FLUSH TABLES is then given up, nobody else can read the tables of the statement before it ends.
// Users without the right PROCESS see only their own statements.
func refuseBusy(ctx context.Context, conn *wire.Conn, wait time.Duration) error {
	found, err := conn.Query(ctx, wire.AnyColumns, "SHOW PROCESSLIST")
	if err != nil {
		return wire.IgnoreRefusal(err)
	}
	for _, row := range found { // Id, User, Host, db, Command, Time and others
		if len(row) < 6 || row[4] != "Query" && row[4] != "Execute" {
			continue
		}
		if seconds, err := strconv.ParseFloat(row[5], 64); err == nil && seconds > wait.Seconds() {
			return &busyError{row[5]}
		}
	}
	return nil
}

// takeLock takes the lock, unless the context ends before. The server gives up waiting a little later by itself, in
// case this process has died.
func takeLock(ctx context.Context, conn *wire.Conn, wait time.Duration) (*lock, error) {
	before, take, end := locking(conn)
	l := &lock{conn: conn, end: end}
	if before == "" || before == lockInstance {
		if err := refuseBusy(ctx, conn, wait); err != nil {
			return nil, l.failed(ctx, err)
		}
	}
	seconds := int(math.Ceil(wait.Seconds())) + 1
	err := conn.Exec(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d", seconds))
	if err == nil && before != "" {
		err = conn.Exec(ctx, before)
	}
	if refused := wire.Refused(err); before == lockInstance && refused != nil && refused.Number != lockTimeout {
		l.end, err = end[:1], nil // the user may not take it, or the server calls itself MySQL and is not
	}
	if err != nil {
		return nil, l.failed(ctx, err)
	}
	l.since = time.Now()
	for _, sql := range take {
		if err := conn.Exec(ctx, sql); err != nil {
			return nil, l.failed(ctx, err)
		}
	}
	return l, nil
}

// failed ends the connection after an error, and with it the lock that it has or waits for.
func (l *lock) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		l.conn.Kill() // otherwise the server would go on waiting for the lock, and others would wait for that
		return ctx.Err()
	}
	if err != nil && !l.conn.Gone {
		l.conn.Close()
	}
	return err
}

// release releases the lock, and returns for how long others may have waited. An error means that the server may have
// taken it back before.
func (l *lock) release(ctx context.Context) (held time.Duration, err error) {
	err = ctx.Err()
	for _, sql := range l.end {
		if err == nil {
			err = l.conn.Exec(ctx, sql)
		}
	}
	err = l.failed(ctx, err)
	return time.Since(l.since), err
}

// position returns where the binary log of the server ends under the lock, as far as a transaction does not tell that
// itself: of MariaDB the GTIDs, and of MySQL the file, the offset and the GTIDs. It is "" if the server does not tell.
func (l *lock) position(ctx context.Context) (string, error) {
	if l.conn.IsMariaDB {
		found, err := l.conn.Query(ctx, 1, "SELECT @@GLOBAL.gtid_binlog_pos")
		if err != nil || len(found) != 1 {
			return "", wire.IgnoreRefusal(err)
		}
		return found[0][0], nil
	}
	for _, sql := range []string{"SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"} { // from MySQL 8.2 on, and before
		found, err := l.conn.Query(ctx, wire.AnyColumns, sql)
		if err = wire.IgnoreRefusal(err); err != nil {
			return "", err
		}
		if len(found) == 1 && len(found[0]) >= 2 {
			position := found[0][0] + ":" + found[0][1]
			if gtids := strings.Join(strings.Fields(found[0][len(found[0])-1]), ""); len(found[0]) == 5 {
				position = withGTIDs(position, gtids)
			}
			return position, nil
		}
	}
	return "", nil
}

// withGTIDs adds global transaction identifiers to a position in the log.
func withGTIDs(position, gtids string) string {
	if gtids == "" {
		return position
	}
	return strings.TrimSpace(position + " GTID " + gtids)
}

// lockDenied are ER_DBACCESS_DENIED_ERROR, ER_ACCESS_DENIED_ERROR and ER_SPECIFIC_ACCESS_DENIED_ERROR.
var lockDenied = []uint16{1044, 1045, 1227}

// lockTimeout is ER_LOCK_WAIT_TIMEOUT.
const lockTimeout = 1205

// whyNotLocked returns the reason why there is no lock, as the end of a sentence.
func whyNotLocked(ctx context.Context, s *session, wait time.Duration, err error) string {
	refused := wire.Refused(err)
	busy, isBusy := errors.AsType[*busyError](err)
	switch {
	case isBusy:
		return "several connections begin under a lock that waits for all statements, and " + busy.Error()
	case errors.Is(err, context.DeadlineExceeded), refused != nil && refused.Number == lockTimeout:
		return fmt.Sprintf("the lock under which several connections begin was not to be had within %v", wait)
	case refused != nil && slices.Contains(lockDenied, refused.Number):
		return "several connections begin under a lock, which the user may not take: GRANT RELOAD ON *.* TO " +
			s.quotedUser(ctx)
	}
	return fmt.Sprintf("the lock under which several connections begin is not to be had: %v", err)
}

// quotedUser returns the user, as statements name it.
func (s *session) quotedUser(ctx context.Context) string {
	found, err := s.Query(ctx, 1, "SELECT CURRENT_USER()")
	if err != nil || len(found) != 1 {
		return "it" // the connection shows its error when it is used again
	}
	at := strings.LastIndexByte(found[0][0], '@')
	if at < 0 {
		return catalog.Quote(found[0][0])
	}
	return catalog.Quote(found[0][0][:at]) + "@" + catalog.Quote(found[0][0][at+1:])
}
