//go:build unix

package cli

import (
	"errors"
	"os/signal"
	"syscall"
	"testing"
)

func TestSignals(t *testing.T) {
	t.Cleanup(func() { signal.Reset() })
	ctx, forced, stop := interruptible(t.Context())
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

	// The result of a command that has ended is not lost to a signal that comes before the process ends.
	ctx, _, stop = interruptible(t.Context())
	stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := interruption(ctx, nil); err != nil {
		t.Error(err)
	}
}
