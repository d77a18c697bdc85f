//go:build unix

package cli

import (
	"errors"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestSecondSignalForces(t *testing.T) {
	t.Cleanup(func() { signal.Reset() })
	ctx, forced, stop := interruptible(t.Context(), new(atomic.Int64))
	for _, done := range []<-chan struct{}{ctx.Done(), forced} {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-done
	}
	stop()
	if err := interruption(ctx, errors.New("some error")); exitCode(err) != exitInterrupted {
		t.Errorf("error is %v", err)
	}
}
