package fusefs

import (
	"bytes"
	"testing"
	"testing/fstest"
	"time"
)

const testFlight = 100 * time.Millisecond // a tenth of the time limit

// pass has a link transfer a piece of length bytes in a time.
func pass(l *link, bytes int, took time.Duration, well bool) {
	p := l.begin(bytes)
	p.began = p.began.Add(-took)
	l.end(p, well)
}

// offered says how much of a large fetch a link takes at once.
func offered(l *link) int {
	p := l.begin(1 << 30)
	l.end(p, false)
	return p.length
}

// TestALinkThatFailsSlowlyIsAskedForLess has a link that was fast bring nothing within the limit any more. What is
// asked for falls until it could come, and rises again when pieces come soon. A fault at once says nothing of the link.
func TestALinkThatFailsSlowlyIsAskedForLess(t *testing.T) {
	const memory = 32 << 20
	l := newLink(10*testFlight, memory)
	for range 64 {
		pass(l, 1<<20, time.Millisecond, true)
	}
	if got := offered(l); got != memory {
		t.Fatalf("a fast link takes %d bytes at once", got)
	}
	pass(l, 1<<20, time.Millisecond, false)
	if got := offered(l); got != memory {
		t.Errorf("after a fault at once it takes %d", got)
	}
	for range 8 {
		pass(l, 1<<20, 10*testFlight, false)
	}
	if got := offered(l); got != leastPiece {
		t.Errorf("when nothing comes in time it takes %d", got)
	}
	for range 64 {
		pass(l, 1<<20, time.Millisecond, true)
	}
	if got := offered(l); got != memory {
		t.Errorf("when it is fast again it takes %d", got)
	}
}

// TestHeldContentTellsNothingOfTheLink reads a file that came along with its open, again and again.
func TestHeldContentTellsNothingOfTheLink(t *testing.T) {
	m := newMount(Config{FS: fstest.MapFS{}, Timeout: 10 * testFlight, Memory: defaultMemory})
	defer m.end()
	content := bytes.Repeat([]byte("held"), 16<<10)
	before := offered(m.link)
	for _, held := range []bool{true, false} {
		r := newReader(m, bytes.NewReader(content), int64(len(content)), func() error { return nil })
		r.held = held
		got := make([]byte, len(content))
		for range 100 {
			if err := r.fetch(got, 0); err != nil || !bytes.Equal(got, content) {
				t.Fatal(err, "or other bytes")
			}
		}
		if after := offered(m.link); (after == before) != held {
			t.Errorf("held %v: the link takes %d bytes at once, and took %d", held, after, before)
		}
	}
}
