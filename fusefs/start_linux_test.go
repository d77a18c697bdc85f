package fusefs_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
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

// stuckReader starts a process that reads 4 KiB of a file that does not answer, and returns once it asks for them.
func stuckReader(t *testing.T, p *play) *exec.Cmd {
	t.Helper()
	file := openDirect(t, p.path("large"))
	before := p.order(playOrder{}).Counts.Read
	p.stall(true)
	reader := exec.Command("dd", "bs=4096", "count=1", "of="+os.DevNull)
	reader.Stdin = file
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	p.waitFor("the read", func(c playCounts) bool { return c.Read > before })
	return reader
}

// TestForcedEnd ends the connection while nobody waits for the next request.
func TestForcedEnd(t *testing.T) {
	p := startPlay(t, playOptions{Timeout: time.Hour})
	p.put(playFile{Name: "large", Size: startedSize, Seed: 1, Starts: true, Holds: true})
	reader := stuckReader(t, p)
	if err := syscall.Unmount(p.dir, syscall.MNT_FORCE); err != nil && err != syscall.EBUSY {
		t.Error(err)
	}
	if err := reader.Wait(); err == nil {
		t.Error("a read of a directory that was unmounted succeeds")
	}
	p.stall(false)
	if report := p.order(playOrder{Wait: true}); report.Err != "" {
		t.Errorf("the mount has ended with %s", report.Err)
	}
	if err := syscall.Unmount(p.dir, syscall.MNT_DETACH); err != nil && err != syscall.EINVAL {
		t.Error(err)
	}
}

func TestSignalEndsStartedRead(t *testing.T) {
	p := startPlayOfStarts(t, playOptions{Timeout: time.Hour})
	defer p.stall(false)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		reader := stuckReader(t, p)
		if err := reader.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := reader.Wait(); err == nil {
			t.Errorf("a read that was sent %v succeeds", signal)
		}
		p.stall(false)
	}
}

func TestUnmountEndsStartedRead(t *testing.T) {
	p := startPlayOfStarts(t, playOptions{Timeout: time.Hour})
	reader := stuckReader(t, p)
	p.order(playOrder{Leave: true})
	if err := reader.Wait(); err == nil {
		t.Error("a read of a directory that was unmounted succeeds")
	}
	p.stall(false)
}
