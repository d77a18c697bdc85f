package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// canceler has the server cancel a statement when its context ends, and gives the connection up if that takes longer
// than the grace.
//
// The handler of pgconn does the same, but drops its request once the statement has ended by itself. PgBouncer up to
// 1.18 dies of that (github.com/pgbouncer/pgbouncer/issues/801).
type canceler struct {
	conn *pgconn.PgConn
	sent chan struct{}
}

// HandleCancel is called when the context ends.
func (c *canceler) HandleCancel(context.Context) {
	deadline := time.Now().Add(grace)
	// Both errors show in the statement: it either ends, or is cut off at the deadline.
	_ = c.conn.Conn().SetDeadline(deadline)
	c.sent = make(chan struct{})
	go func() {
		defer close(c.sent)
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		_ = c.conn.CancelRequest(ctx)
	}()
}

// HandleUnwatchAfterCancel is called when the statement has ended. The request returns once the server has closed it,
// after the signal to the process that runs the statement: from then on it cannot hit the next statement.
func (c *canceler) HandleUnwatchAfterCancel() {
	<-c.sent
	_ = c.conn.Conn().SetDeadline(time.Time{})
}
