package grace_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"culvert/internal/grace"
)

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("interrupted")
		ctx, end := context.WithCancelCause(t.Context())
		later, cancel := grace.Context(ctx, time.Second)
		defer cancel()
		end(cause)
		begun := time.Now()
		<-time.After(time.Second - 1)
		if later.Err() != nil {
			t.Error("it ends too early")
		}
		<-later.Done()
		if got := context.Cause(later); !errors.Is(got, cause) || time.Since(begun) != time.Second {
			t.Errorf("it ends after %v, by %v", time.Since(begun), got)
		}
	})
}

// TestCancel leaves no goroutine behind: synctest would wait for it.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		later, cancel := grace.Context(ctx, 24*365*time.Hour)
		end()
		synctest.Wait()
		begun := time.Now()
		cancel()
		if <-later.Done(); time.Since(begun) != 0 {
			t.Error("it does not end at once")
		}
	})
}
