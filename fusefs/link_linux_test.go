package fusefs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
)

// TestASlowLinkThatAnswersIsNotTakenForGone has several programs read over a link that needs longer than the limit for
// their read-ahead. All get all bytes. When no more bytes arrive, they get EIO.
func TestASlowLinkThatAnswersIsNotTakenForGone(t *testing.T) {
	t.Parallel()
	const (
		size    = 3 << 19
		rate    = 1 << 20
		readers = 3
	)
	p := startPlay(t, playOptions{Timeout: shortTimeout})
	p.order(playOrder{Rate: rate})
	var group sync.WaitGroup
	for i := range readers {
		name := fmt.Sprint("slow", i)
		p.put(playFile{Name: name, Size: size, Seed: uint64(i)})
		file, err := os.OpenFile(p.path(name), os.O_RDONLY|[]int{0, syscall.O_DIRECT}[i%2], 0)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			got, err := io.ReadAll(file)
			if err := errors.Join(err, file.Close()); err != nil || !bytes.Equal(got, content(uint64(i), size)) {
				t.Errorf("reader %d gets %d bytes, %v", i, len(got), err)
			}
		})
	}
	group.Wait()

	p.put(playFile{Name: "gone", Size: size, Seed: 9})
	file := openDirect(t, p.path("gone"))
	p.stall(true)
	if _, err := file.ReadAt(make([]byte, 1<<20), 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("a read of what does not answer gives %v", err)
	}
	p.stall(false)
}

// TestALinkThatBecomesSlow has a reader that was read far ahead of go on over a slow link.
func TestALinkThatBecomesSlow(t *testing.T) {
	t.Parallel()
	const size = 12 << 20
	p := startPlay(t, playOptions{Timeout: shortTimeout})
	p.put(playFile{Name: "f", Size: size, Seed: 5})
	file, err := os.Open(p.path("f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got := make([]byte, size)
	if _, err := io.ReadFull(file, got[:1<<20]); err != nil {
		t.Fatal(err)
	}
	p.order(playOrder{Rate: 4 << 20})
	if _, err := io.ReadFull(file, got[1<<20:]); err != nil || !bytes.Equal(got, content(5, size)) {
		t.Errorf("a link that becomes slow gives %v, or other bytes", err)
	}
}
