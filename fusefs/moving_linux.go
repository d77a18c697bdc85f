package fusefs

import (
	"sync/atomic"
	"time"
)

// movingParts is how often per Config.Timeout a MovingFS is asked whether anything moved.
const movingParts = 4

// movedForOthers is how many bytes may move while a request waits. Beyond that they were for other requests, and no
// longer extend the wait.
const movedForOthers = 64 << 20

// moving records when anything last moved on the way to a [MovingFS].
type moving struct {
	bytes atomic.Int64
	at    atomic.Int64 // in nanoseconds since began; 0 if unknown
	began time.Time
}

// watch polls until the mount ends.
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

// extendMoving extends the wait if bytes have moved lately, and reports whether it did.
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
