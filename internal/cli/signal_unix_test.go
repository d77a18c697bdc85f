//go:build unix

package cli

import (
	"errors"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

func TestSecondSignalForces(t *testing.T) {
	t.Cleanup(func() { signal.Reset() })
	a := &app{}
	a.patience.Store(int64(time.Hour))
	ctx, forced, stop := interruptible(t.Context(), a)
	send := func() {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	send()
	<-ctx.Done()
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for isForced := false; !isForced; {
		send()
		select {
		case <-forced:
			isForced = true
		case <-ticks.C:
		}
	}
	stop()
	if err := interruption(ctx, errors.New("some error")); exitCode(err) != exitInterrupted {
		t.Errorf("error is %v", err)
	}
}
