package wire

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// Watch does for a caller that sends and receives messages itself what [Connect] promises for statements: when the
// context ends, what the connection runs is canceled. The caller must call unwatch when that has ended.
func Watch(ctx context.Context, conn *pgconn.PgConn, grace time.Duration) (unwatch func()) {
	watcher := ctxwatch.NewContextWatcher(&canceler{conn: conn, grace: grace})
	watcher.Watch(ctx)
	return watcher.Unwatch
}
