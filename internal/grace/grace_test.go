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

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := grace.Wait(t.Context(), time.Minute); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("it waits for %v, and returns %v", time.Since(begun), err)
		}
		cause := errors.New("interrupted")
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(cause) })
		begun = time.Now()
		if err := grace.Wait(ctx, time.Minute); !errors.Is(err, cause) || time.Since(begun) != time.Second {
			t.Errorf("interrupted, it waits for %v, and returns %v", time.Since(begun), err)
		}
	})
}
