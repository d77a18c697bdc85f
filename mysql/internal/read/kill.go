package read

import (
	"context"
	"database/sql/driver"
	"time"

	"culvert/mysql/internal/wire"
)

// interrupt ends the statement that returns rows on the server, and drops the rows that are still on the way. If that
// fails, or takes too long, it closes the connection.
func (s *session) interrupt(statement driver.Stmt, found driver.Rows) {
	for _, step := range []func() error{
		func() error { return s.Interrupt(statement, found) },
		func() error { return s.SetDeadline(time.Now().Add(wire.Grace)) },
		func() error { return s.keepSnapshot(context.Background()) },
		func() error { return s.SetDeadline(time.Time{}) },
	} {
		if step() != nil {
			s.Kill()
			return
		}
	}
}
