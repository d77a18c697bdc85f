package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// grace is how long to wait for a KILL. After that, the server is left to notice by itself that the connection is
// closed. Only tests change it.
var grace = 5 * time.Second

// whichServer identifies a server, even among servers with the same data.
const whichServer = "CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir, @@pid_file)"

// interrupt ends the statement that returns rows on the server, and drops the rows that are still on the way. If that
// fails, or takes longer than grace, it closes the connection.
func (s *session) interrupt(statement driver.Stmt, found driver.Rows) {
	ctx := context.Background()
	for _, step := range []func() error{
		func() error { return s.network.SetDeadline(time.Now().Add(grace)) },
		func() error { return s.sendKill("QUERY") },
		func() error { return ignoreRefusal(guarded(found.Close)) },
		func() error { return guarded(statement.Close) },
		// If the statement had already ended, the KILL hits the next one, which must be this one.
		func() error { return ignoreRefusal(s.exec(ctx, "DO 0")) },
		func() error { return s.keepSnapshot(ctx) },
		func() error { return s.network.SetDeadline(time.Time{}) },
	} {
		if step() != nil {
			s.kill()
			return
		}
	}
}

// kill closes the connection, and has the server end the statement that still runs on it. Otherwise the server notices
// only when it sends rows. A failure of the KILL has no consequence here.
func (s *session) kill() {
	s.close()
	_ = s.sendKill("CONNECTION")
}

var errOtherServer = errors.New("the second connection reached another server")

// maxStartDifference is how much two start times of the same server may differ, in seconds.
const maxStartDifference = 2

// sendKill kills the connection, or the query that it runs, from a second connection within grace. It makes sure that
// both are on the same server: one address can belong to several servers, which use the same connection numbers, and a
// server that was restarted counts from 1 again. A running server reuses a number only after four billion connections,
// so a KILL never hits another connection if this one has already ended.
func (s *session) sendKill(what string) error {
	if s.id == 0 {
		return errOtherServer
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	opened, err := s.connect(ctx)
	if err != nil {
		return err
	}
	second := &session{conn: opened}
	defer second.close()
	found, err := second.query(ctx, 1, "SELECT "+whichServer)
	if err != nil {
		return err
	}
	if len(found) != 1 || found[0][0] != s.server {
		return errOtherServer
	}
	started, err := second.serverStart(ctx)
	if err != nil {
		return err
	}
	if difference := started - s.started; difference < -maxStartDifference || difference > maxStartDifference {
		return errOtherServer
	}
	return second.exec(ctx, fmt.Sprintf("KILL %s %d", what, s.id))
}
