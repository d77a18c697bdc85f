package fusefs

import (
	"sync"
	"time"
)

const (
	// flightTime is how long the bytes that were asked for at once should take to come, or a tenth of Config.Timeout if
	// that is shorter: much less leaves a far file system idle between two answers, and much more makes every other
	// request wait behind them.
	flightTime = time.Second

	// firstWindow is what is asked for at once as long as nothing is known of the file system.
	firstWindow = 512 << 10

	// leastPiece is what a fetch may ask for at once however many others are under way.
	leastPiece = 32 << 10

	// readTimeouts is how many times Config.Timeout a read waits at most, for a file system that answers other reads.
	readTimeouts = 6
)

// link is what the fetches of a mount have shown of the way to the file system, which they share. Its window is how
// many bytes they ask for at once: about what comes within the flight time. That is throughput by Little's law, the
// bytes under way divided by the time that each takes. It grows by no more than twice what came, as the slow start of
// TCP does, so that a short burst is not taken for the link.
type link struct {
	flight time.Duration
	most   int64 // the window never needs more

	mu       sync.Mutex
	window   int64
	flying   int64     // bytes under way
	progress time.Time // when a piece came last
}

// piece is a part of a fetch that the file system is asked for at once.
type piece struct {
	length int
	flying int64 // bytes under way when it began, its own too
	began  time.Time
}

func newLink(timeout time.Duration, memory int64) *link {
	return &link{flight: min(flightTime, timeout/10), most: memory, window: firstWindow}
}

// begin says how many of the bytes that are left of a fetch to ask for now.
func (l *link) begin(left int) piece {
	l.mu.Lock()
	defer l.mu.Unlock()
	length := min(left, int(max(l.window-l.flying, leastPiece)))
	l.flying += int64(length)
	return piece{length, l.flying, time.Now()}
}

// end takes note of how a piece came, and whether it came well. One that failed after a long time is as slow as if it
// had come then, or the next ones would clog a link that brings less than before in the time that there is.
func (l *link) end(p piece, well bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	flying := max(p.flying, l.flying)
	l.flying -= int64(p.length)
	if well {
		l.progress = now
	}
	took := max(now.Sub(p.began), time.Microsecond)
	within := int64(float64(flying) * float64(l.flight) / float64(took))
	switch {
	case took > l.flight:
		l.window = max(min(l.window, within), leastPiece)
	case well:
		l.window = max(l.window, min(within, l.window+2*int64(p.length), l.most))
	}
}

// share gives how much of the window there is for each of some readers.
func (l *link) share(readers int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.window / int64(max(readers, 1))
}

// lastProgress gives when a piece came last.
func (l *link) lastProgress() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress
}
