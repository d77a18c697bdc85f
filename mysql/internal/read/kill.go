package read

import (
	"context"
	"time"

	"culvert/mysql/internal/wire"
)

// interrupt ends the statement on the server, and drops the rows that are still on the way. If that fails, or takes too
// long, it closes the connection. A statement of this package has no savepoint and ends no transaction.
func (r *rows) interrupt() {
	s, statement, found := r.session, r.statement, r.result
	for _, step := range []func() error{
		func() error { return s.Interrupt(statement, found) },
		func() error { return s.SetDeadline(time.Now().Add(wire.Grace)) },
		func() error {
			if r.own {
				return nil
			}
			return s.keepSnapshot(context.Background())
		},
		func() error { return s.SetDeadline(time.Time{}) },
	} {
		if step() != nil {
			s.Kill()
			return
		}
	}
}
