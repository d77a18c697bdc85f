// Package grace gives work that has begun a bounded time to finish after its context has ended.
package grace

import (
	"context"
	"time"
)

// Context returns a context with the values of another one, which ends some time after that, with the same cause. It
// ends at once when it is canceled; callers must do that.
func Context(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		over := time.NewTimer(by)
		defer over.Stop()
		select {
		case <-over.C:
			cancel(context.Cause(ctx))
		case <-later.Done():
		}
	})
	return later, func() {
		stop()
		cancel(nil)
	}
}
