//go:build unix

package cli

import (
	"errors"
	"os"
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
	// No signal may be under way when the test ends: another one would be interrupted.
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGTERM)
	send := func() {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-arrived
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
