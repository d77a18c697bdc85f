package fusefs

import (
	"sync/atomic"
	"time"
)

// movingParts of Config.Timeout is how often a file system that can say so is asked whether anything moves.
const movingParts = 4

// movedForOthers is how many bytes may move for others while a request waits. Whatever moves beyond does not show that
// the file system is at work for that request.
const movedForOthers = 64 << 20

// moving is when anything moved last on the way to a [MovingFS].
type moving struct {
	bytes atomic.Int64
	at    atomic.Int64 // in nanoseconds since began; 0 if it is not known
	began time.Time
}

// watch looks until the mount ends.
func (w *moving) watch(m *mount, tree MovingFS) {
	ticker := time.NewTicker(max(m.config.Timeout/movingParts, time.Millisecond))
	defer ticker.Stop()
	w.bytes.Store(tree.Moved())
	for {
		select {
		case <-ticker.C:
		case <-m.ended:
			return
		}
		if bytes := tree.Moved(); bytes != w.bytes.Swap(bytes) {
			w.at.Store(int64(time.Since(w.began)))
		}
	}
}

// extendMoving reports whether bytes have moved lately, and gives the wait the time that this is worth.
func (d *deadline) extendMoving() bool {
	w := &d.m.moving
	at := w.at.Load()
	if at == 0 || !d.mayMove || w.bytes.Load()-d.moved > movedForOthers {
		return false
	}
	left := time.Until(w.began.Add(time.Duration(at) + d.m.config.Timeout))
	if left <= 0 {
		return false
	}
	d.timer.Reset(left)
	return true
}
