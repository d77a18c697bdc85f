package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// cancelInterval is how long a request to cancel a statement has to be of use before the next one.
const cancelInterval = 200 * time.Millisecond

// canceler has the server cancel a statement when its context ends, and gives the connection up if that takes longer
// than the grace. It asks again until the statement has ended: the server drops a request that comes before the
// statement does, by the other connection.
//
// The handler of pgconn does the same, but drops its request once the statement has ended by itself. PgBouncer up to
// 1.18 dies of that (github.com/pgbouncer/pgbouncer/issues/801).
type canceler struct {
	conn  *pgconn.PgConn
	ended chan struct{} // closed when the statement has ended
	sent  chan struct{} // closed after the last request
}

// HandleCancel is called when the context ends.
func (c *canceler) HandleCancel(context.Context) {
	deadline := time.Now().Add(grace)
	// Both errors show in the statement: it either ends, or is cut off at the deadline.
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

// HandleUnwatchAfterCancel is called when the statement has ended. The request returns once the server has closed it,
// after the signal to the process that runs the statement: from then on it cannot hit the next statement.
func (c *canceler) HandleUnwatchAfterCancel() {
	close(c.ended)
	<-c.sent
	_ = c.conn.Conn().SetDeadline(time.Time{})
}
