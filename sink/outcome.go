package sink

import (
	"context"
	"fmt"
	"time"
)

// Outcome returns what has become of a commit whose answer was lost with the connection: nil if it has happened, the
// error failed if it has not, or else [ErrUnconfirmed]. For as long as grace, also if the context has ended, ask is
// called until it returns no error. It asks over another connection.
func Outcome(
	ctx context.Context, grace time.Duration, failed error, ask func(context.Context) (isCommitted bool, err error),
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	next := time.NewTicker(100 * time.Millisecond)
	defer next.Stop()
	for {
		switch isCommitted, err := ask(ctx); {
		case err == nil && isCommitted:
			return nil
		case err == nil:
			return failed
		}
		select {
		case <-next.C: // the server may be starting
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnconfirmed, failed)
		}
	}
}
