package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"testing"
)

// TestDiscardMeanwhile gives up files while they are written and committed. Each ends in one of two ways, whole.
func TestDiscardMeanwhile(t *testing.T) {
	p := newPublisher(t)
	var committed int
	for round := range 20 {
		writers, errs := make([]*Writer, fewestShared), make([]error, fewestShared)
		for i := range writers {
			writers[i] = begin(t, filepath.Join(p.root.Name(), fmt.Sprint("file", round, "-", i)), "text")
		}
		var all sync.WaitGroup
		all.Go(func() {
			more := make([]byte, 2*writebackSize+1)
			for _, w := range writers[:2] {
				_, _ = w.Write(more[:writebackSize]) // Commit returns the error
				_, _ = w.Write(more)
			}
			errs = p.Commit(writers, func(int) bool { return false })
		})
		all.Go(func() {
			for i := len(writers) - 1; i >= round%len(writers); i-- {
				if err := writers[i].Discard(); err != nil {
					t.Error(err)
				}
			}
		})
		all.Wait()
		for i, err := range errs {
			if err == nil {
				committed++
			} else if !errors.Is(err, fs.ErrClosed) {
				t.Errorf("file %d: %v", i, err)
			}
		}
	}
	if got := names(t, p.root.Name()); len(got) != committed {
		t.Errorf("%d files were committed, %q are there", committed, got)
	}
}
