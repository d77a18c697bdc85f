package fusefs

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// flightTime is how long the bytes under way should take to arrive, or a tenth of Config.Timeout if that is
	// shorter. Much less leaves a distant file system idle between answers; much more makes other requests wait behind
	// them.
	flightTime = time.Second

	// firstWindow is the window before anything is known of the file system.
	firstWindow = 512 << 10

	// leastPiece is what a fetch may ask for at once, whatever is under way.
	leastPiece = 32 << 10
)

// link measures the way to the file system, which all fetches of a mount share. Its window is how many bytes they ask
// for at once: about what arrives within the flight time. By Little's law, the throughput is the bytes under way
// divided by the time that each takes. As in TCP's slow start, the window grows by at most twice what arrived, so that
// a short burst does not count as the speed of the link.
type link struct {
	flight time.Duration
	most   int64 // the largest useful window

	arrived atomic.Int64 // bytes of all fetches

	mu     sync.Mutex
	window int64
	flying int64 // bytes under way
}

// piece is the part of a fetch that one call of the file system reads.
type piece struct {
	length int
	flying int64 // bytes under way when it began, including its own
	began  time.Time
}

func newLink(timeout time.Duration, memory int64) *link {
	return &link{flight: min(flightTime, timeout/10), most: memory, window: firstWindow}
}

// begin returns how many of the bytes left of a fetch to ask for now.
func (l *link) begin(left int) piece {
	l.mu.Lock()
	defer l.mu.Unlock()
	length := min(left, int(max(l.window-l.flying, leastPiece)))
	l.flying += int64(length)
	return piece{length, l.flying, time.Now()}
}

// end notes the end of a piece, and whether it succeeded. One that failed after a long time counts as slow: otherwise
// the next ones would clog a link that has become slower.
func (l *link) end(p piece, well bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	flying := max(p.flying, l.flying)
	l.flying -= int64(p.length)
	if well {
		l.arrived.Add(int64(p.length))
	}
	took := max(time.Since(p.began), time.Microsecond)
	within := int64(float64(flying) * float64(l.flight) / float64(took))
	switch {
	case took > l.flight:
		l.window = max(min(l.window, within), leastPiece)
	case well:
		l.window = max(l.window, min(within, l.window+2*int64(p.length), l.most))
	}
}

// share returns each reader's share of the window.
func (l *link) share(readers int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.window / int64(max(readers, 1))
}
