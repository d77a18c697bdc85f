// Package grace gives work that has begun a bounded time to finish after its context has ended, and ends pauses with
// their context.
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

// Wait waits for some time, or returns the cause of the end of the context.
func Wait(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
