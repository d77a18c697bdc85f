package fusefs_test

import (
	"bytes"
	"errors"
	"sync"
	"syscall"
	"testing"
)

const startedSize = 1 << 20

// startPlayOfStarts shows a file that reads without a goroutine that waits.
func startPlayOfStarts(t *testing.T, options playOptions) *play {
	t.Helper()
	p := startPlay(t, options)
	p.put(playFile{Name: "large", Size: startedSize, Seed: 1, Starts: true})
	return p
}

func TestReadsThatAreStarted(t *testing.T) {
	p := startPlayOfStarts(t, playOptions{})
	file := openDirect(t, p.path("large"))
	want := content(1, startedSize)
	var group sync.WaitGroup
	for i := range int64(32) {
		group.Go(func() {
			for n := range int64(50) {
				// Some are odd, so that they are not started, and some end behind the file.
				got := make([]byte, 4096)
				offset := (n*7919 + i*104_729) % startedSize
				rest := want[offset:min(offset+4096, startedSize)]
				if n, _ := file.ReadAt(got, offset); !bytes.Equal(got[:n], rest) {
					t.Errorf("other bytes at %d", offset)
				}
			}
		})
	}
	group.Wait()
}

func TestReadsThatAreStartedAndFail(t *testing.T) {
	p := startPlayOfStarts(t, playOptions{})
	file := openDirect(t, p.path("large"))
	got := make([]byte, 4096)
	p.order(playOrder{Fault: "out of order"})
	if _, err := file.ReadAt(got, 8192); !errors.Is(err, syscall.EIO) {
		t.Errorf("a read that fails gives %v", err)
	}
	p.order(playOrder{Fault: "none"})
	if _, err := file.ReadAt(got, 8192); err != nil || !bytes.Equal(got, content(1, startedSize)[8192:12288]) {
		t.Errorf("a read after that gives %v", err)
	}
	p.put(playFile{Name: "large", Size: startedSize, Ends: 10_000, Seed: 1, Starts: true})
	if _, err := file.ReadAt(got, 8192); !errors.Is(err, syscall.EIO) {
		t.Errorf("a read over an early end gives %v", err)
	}
}

// TestReadsThatAreStartedAndStay has many wait for answers that come when nobody waits any more.
func TestReadsThatAreStartedAndStay(t *testing.T) {
	t.Parallel()
	p := startPlayOfStarts(t, playOptions{Timeout: shortTimeout})
	file := openDirect(t, p.path("large"))
	p.stall(true)
	var group sync.WaitGroup
	for i := range int64(50) {
		group.Go(func() {
			if _, err := file.ReadAt(make([]byte, 4096), i*8192); !errors.Is(err, syscall.EIO) {
				t.Errorf("a read of what does not answer gives %v", err)
			}
		})
	}
	group.Wait()
	p.stall(false)
	got := make([]byte, 4096)
	if _, err := file.ReadAt(got, 4096); err != nil || !bytes.Equal(got, content(1, startedSize)[4096:8192]) {
		t.Errorf("a file that answers again gives %v", err)
	}
}
