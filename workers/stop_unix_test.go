//go:build unix

package workers_test

import (
	"syscall"
	"testing"
)

// TestWorkerIsStopped stops a worker, whose part is given to another one, and lets it go on when all is done.
func TestWorkerIsStopped(t *testing.T) {
	t.Parallel()
	signal := func(t *testing.T, p *process, s syscall.Signal) {
		t.Helper()
		if err := p.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	atEachStep(t,
		func(t *testing.T, p *process) { signal(t, p, syscall.SIGSTOP) },
		func(t *testing.T, p *process) {
			signal(t, p, syscall.SIGCONT)
			p.goOn(t)
		})
}
