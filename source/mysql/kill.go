package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// grace is how long the server has to take a KILL, after which it is left to find out by itself that nobody listens.
// Only tests change it.
var grace = 5 * time.Second

// whichServer tells one server from another, also of those that have the same data.
const whichServer = "CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir, @@pid_file)"

// interrupt has the server end the statement that gives rows, and drops those that are still on the way. If that fails,
// or takes longer than the grace, the connection is given up.
func (s *session) interrupt(statement driver.Stmt, found driver.Rows) {
	err := s.network.SetDeadline(time.Now().Add(grace))
	if err == nil {
		err = s.sendKill("QUERY")
	}
	if err == nil {
		err = ignoreRefusal(guarded(found.Close))
	}
	if err == nil {
		err = guarded(statement.Close)
	}
	if err == nil {
		// The KILL may have found the statement at its end, and would hit the next one.
		err = ignoreRefusal(s.exec(context.Background(), "DO 0"))
	}
	if err == nil {
		err = s.keepSnapshot(context.Background())
	}
	if err == nil {
		err = s.network.SetDeadline(time.Time{})
	}
	if err != nil {
		s.kill()
	}
}

// kill gives the connection up, and has the server end what still runs on it. The server would find out by itself only
// when it has rows to send. Whether it takes the KILL does not matter to anyone here.
func (s *session) kill() {
	s.close()
	_ = s.sendKill("CONNECTION")
}

var errOtherServer = errors.New("the connection cannot be found again")

// maxStartDifference is by how many seconds two answers of one server to when it was started may differ.
const maxStartDifference = 2

// sendKill kills the connection, or the query that it runs, from a second connection, within the grace. What looks like
// a server may be several, and another one has other connections by the same numbers. So has one that was restarted,
// which counts from 1 again. A server that runs on gives a number anew only after four billion others, so that a
// connection which has ended by itself is none to it, and no other one is hit.
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
