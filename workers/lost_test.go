package workers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/workers"
)

// TestPartIsLost has a part whose file is removed when all are written, once and again and again.
func TestPartIsLost(t *testing.T) {
	t.Parallel()
	for _, often := range []bool{false, true} {
		f := newFixture(t)
		q := f.queue(t)
		removed := 0
		running := f.begin(t.Context(), t, q, workers.Coordinator{Progress: func(s workers.Status) {
			if s.Done == 0 || s.Done < s.Parts || removed > 0 && !often {
				return
			}
			files, err := filepath.Glob(filepath.Join(f.Directory, "customers", "*"))
			if err != nil || len(files) != 1 {
				t.Errorf("the files of customers are %q, %v", files, err)
				return
			}
			removed++
			if err := os.Remove(files[0]); err != nil {
				t.Error(err)
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		worker := f.participant
		worker.Name = "worker"
		worked := make(chan error, 1)
		go func() { worked <- worker.workOn(ctx, q, func(m string) { t.Log(m) }) }()
		result := <-running
		cancel()
		if err := <-worked; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if often {
			if removed != 2 || result.err == nil || !strings.Contains(result.err.Error(), "once more") {
				t.Errorf("removed %d times: %v", removed, result.err)
			}
			continue
		}
		if result.err != nil || removed != 1 {
			t.Errorf("removed %d times: %v", removed, result.err)
		}
		f.check(t)
	}
}
