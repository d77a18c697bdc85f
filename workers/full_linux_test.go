package workers_test

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"culvert/internal/testkit"
	"culvert/workers"
)

// TestPlaceIsFull has a place without room for all parts. When there is more, the export goes on.
func TestPlaceIsFull(t *testing.T) {
	t.Parallel()
	f := newQuietFixture(t)
	if err := syscall.Mount("none", f.Directory, "tmpfs", 0, "size=96k"); err != nil {
		testkit.Missing(t, "the right to mount", "run as root")
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(f.Directory, 0); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q := f.queue(t)
	ended := f.begin(ctx, t, q, workers.Coordinator{})
	worker := f.participant
	worker.Name = "worker"
	if err := worker.workOn(ctx, q, func(m string) { t.Log(m) }); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	cancel()
	// The journal is in the place too, so the coordinator may have found it full before it was ended.
	if result := <-ended; !errors.Is(result.err, context.Canceled) && !errors.Is(result.err, syscall.ENOSPC) {
		t.Error(result.err)
	}
	if done, err := f.done(); done || err != nil {
		t.Errorf("there is a manifest: %v, %v", done, err)
	}
	if err := syscall.Mount("none", f.Directory, "", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	if err := f.resume(t); err != nil {
		t.Fatal(err)
	}
	f.check(t)
}
