package wire

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// cancelInterval is the time between two requests to cancel a statement.
const cancelInterval = 200 * time.Millisecond

// canceler has the server cancel a statement when its context ends, and closes the connection if that takes longer than
// grace. It repeats the request until the statement has ended, since the server ignores a request that arrives before
// the statement.
//
// The handler of pgconn does the same, but drops its request if the statement ends by itself, which crashes PgBouncer
// up to 1.18 (github.com/pgbouncer/pgbouncer/issues/801).
type canceler struct {
	conn  *pgconn.PgConn
	grace time.Duration
	ended chan struct{} // closed when the statement has ended
	sent  chan struct{} // closed after the last request
}

// HandleCancel is called when the context ends.
func (c *canceler) HandleCancel(context.Context) {
	deadline := time.Now().Add(c.grace)
	// Errors show in the statement: it either ends, or is cut off at the deadline.
	_ = c.conn.Conn().SetDeadline(deadline)
	c.ended, c.sent = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(c.sent)
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		next := time.NewTicker(cancelInterval)
		defer next.Stop()
		for {
			_ = c.conn.CancelRequest(ctx)
			select {
			case <-next.C:
			case <-c.ended:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
}

// HandleUnwatchAfterCancel is called when the statement has ended. A request returns after the server has sent the
// signal to the process that runs the statement, so it cannot hit the next statement.
func (c *canceler) HandleUnwatchAfterCancel() {
	close(c.ended)
	<-c.sent
	_ = c.conn.Conn().SetDeadline(time.Time{})
}
