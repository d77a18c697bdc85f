//go:build unix

package cli

import (
	"errors"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"culvert/cmd/culvert/internal/command"
)

func TestSecondSignalForces(t *testing.T) {
	t.Cleanup(func() { signal.Reset() })
	a := &command.App{}
	a.WaitFor(time.Hour)
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
	if err := command.Interruption(ctx, errors.New("some error")); command.ExitCode(err) != command.ExitInterrupted {
		t.Errorf("error is %v", err)
	}
}
