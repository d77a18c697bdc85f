package wire

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Grace is how long to wait for a KILL. After that, the server is left to notice by itself that the connection is
// closed.
const Grace = 5 * time.Second

// whichServer identifies a server, even among servers with the same data.
const whichServer = "CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir, @@pid_file)"

// Interrupt ends the statement that returns rows on the server, and drops the rows that are still on the way. The
// statement is nil if it was not prepared. An error means that the server has not ended it within [Grace]; then the
// connection is only good for [Conn.Kill].
func (c *Conn) Interrupt(statement driver.Stmt, found driver.Rows) error {
	for _, step := range []func() error{
		func() error { return c.SetDeadline(time.Now().Add(Grace)) },
		func() error { return c.sendKill("QUERY") },
		func() error { return IgnoreRefusal(Guarded(found.Close)) },
		func() error {
			if statement == nil {
				return nil
			}
			return Guarded(statement.Close)
		},
		// If the statement had already ended, the KILL hits the next one, which must be this one.
		func() error { return IgnoreRefusal(c.Exec(context.Background(), "DO 0")) },
		func() error { return c.SetDeadline(time.Time{}) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Kill closes the connection, and has the server end the statement that still runs on it. Otherwise the server notices
// only when it sends rows. A failure of the KILL has no consequence here.
func (c *Conn) Kill() {
	c.Close()
	_ = c.sendKill("CONNECTION")
}

var errOtherServer = errors.New("the second connection reached another server")

// maxStartDifference is how much two start times of the same server may differ, in seconds.
const maxStartDifference = 2

// sendKill kills the connection, or the query that it runs, from a second connection within Grace.
func (c *Conn) sendKill(what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), Grace)
	defer cancel()
	second, isSame, err := c.second(ctx)
	if err != nil {
		return err
	}
	defer second.Close()
	if !isSame {
		return errOtherServer
	}
	return second.Exec(ctx, fmt.Sprintf("KILL %s %d", what, c.ID))
}

// second opens another connection to the server, and reports whether the server has not been restarted since. It makes
// sure that both are on the same server: one address can belong to several servers, which use the same connection
// numbers, and a server that was restarted counts from 1 again. A running server reuses a number only after four
// billion connections, so a KILL never hits another connection if this one has already ended.
func (c *Conn) second(ctx context.Context) (second *Conn, isSame bool, err error) {
	if c.ID == 0 {
		return nil, false, errOtherServer
	}
	opened, err := c.connect(ctx)
	if err != nil {
		return nil, false, err
	}
	second = &Conn{conn: opened}
	found, err := second.Query(ctx, 1, "SELECT "+whichServer)
	if err == nil && (len(found) != 1 || found[0][0] != c.Server) {
		err = errOtherServer
	}
	if err == nil {
		second.started, err = second.serverStart(ctx)
	}
	if err != nil {
		second.Close()
		return nil, false, err
	}
	difference := second.started - c.started
	return second, -maxStartDifference <= difference && difference <= maxStartDifference, nil
}

// After returns another connection to the server of this one, which must be closed, when nothing of this one goes on
// there any more.
func (c *Conn) After(ctx context.Context) (*Conn, error) {
	second, isSame, err := c.second(ctx)
	if err != nil || !isSame {
		return second, err
	}
	next := time.NewTicker(20 * time.Millisecond)
	defer next.Stop()
	for {
		// The server knows no such connection if it has ended.
		err := IgnoreRefusal(second.Exec(ctx, fmt.Sprintf("KILL CONNECTION %d", c.ID)))
		var found [][]string
		if err == nil {
			found, err = second.Query(ctx, 1,
				fmt.Sprintf("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = %d", c.ID))
		}
		if err == nil && len(found) == 0 {
			return second, nil
		}
		if err == nil {
			select {
			case <-next.C:
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		second.Close()
		return nil, err
	}
}

// serverStart returns when the server was started, in seconds by its own clock, accurate to one or two seconds. It is 0
// if the server does not tell.
func (c *Conn) serverStart(ctx context.Context) (int64, error) {
	var numbers [2]int64
	for i, sql := range []string{"SHOW GLOBAL STATUS LIKE 'Uptime'", "SELECT UNIX_TIMESTAMP()"} {
		found, err := c.Query(ctx, AnyColumns, sql)
		if Refused(err) != nil && ctx.Err() == nil {
			return 0, nil // such as by a proxy
		}
		if err != nil {
			return 0, err
		}
		if len(found) == 0 {
			return 0, nil
		}
		if numbers[i], err = strconv.ParseInt(found[0][len(found[0])-1], 10, 64); err != nil {
			return 0, ErrAnswer
		}
	}
	return numbers[1] - numbers[0], nil
}
