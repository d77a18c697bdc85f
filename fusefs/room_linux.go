package fusefs

import (
	"context"
	"sync"
)

// roomAtOnce is how many files are given up at a time.
const roomAtOnce = 32

// openNodes are files that programs have open and that may be open on the other side, to be written in place. A file
// system may allow fewer than programs open; those that nobody writes to now can be given up, and opened again.
type openNodes struct {
	mu    sync.Mutex
	nodes map[*node]struct{}
}

func (o *openNodes) add(n *node) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.nodes == nil {
		o.nodes = map[*node]struct{}{}
	}
	o.nodes[n] = struct{}{}
}

func (o *openNodes) remove(n *node) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.nodes, n)
}

// takeSome takes some out, others than n.
func (o *openNodes) takeSome(n *node) (some []*node) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for other := range o.nodes {
		if len(some) == roomAtOnce {
			break
		}
		if other != n {
			some = append(some, other)
			delete(o.nodes, other)
		}
	}
	return some
}

// makeRoom gives up some files that are written in place, and reports whether there were any: then the caller tries
// again what failed with ENFILE. It does not wait for the turn of a file, whose holder may need room, too. The caller
// does not hold the lock of the paths.
func (m *mount) makeRoom(n *node) (made bool) {
	for _, other := range m.inPlace.takeSome(n) {
		given, isOpen := other.giveUp()
		made = made || given
		if !given && isOpen {
			m.inPlace.add(other)
		}
	}
	return made
}

// giveUp closes on the other side what is written in place, after it was synced: from then on, a sync has nothing to
// wait for. It reports whether there was something that it could close, and whether there is something left.
func (n *node) giveUp() (given, isOpen bool) {
	n.mu.Lock()
	w := n.writing
	n.mu.Unlock()
	select {
	case <-w.turn:
	default:
		return false, true
	}
	defer w.giveBack()
	d := n.m.deadline(context.Background())
	defer d.stop()
	n.mu.Lock()
	begun, removed := w.draft, w.removed
	n.mu.Unlock()
	switch {
	case removed:
		return false, false
	case begun == nil:
	case !begun.isInPlace():
		return false, true
	case begun.sync(d) != 0 || n.publish(d) != 0:
		return false, true // a program will be told
	}
	n.mu.Lock()
	published := w.published
	n.mu.Unlock()
	if published == nil || published.sync(d) != 0 {
		return false, published != nil
	}
	n.mu.Lock()
	is := w.published == published // it may have been closed meanwhile
	if is {
		w.published = nil
	}
	n.mu.Unlock()
	if is {
		published.endNow(d)
	}
	return is, false
}

// endNow is end that waits.
func (w *draft) endNow(d *deadline) {
	w.m.chunks.forget(w)
	if w.m.letGo(w) {
		// Its content is durable: an error changes nothing.
		_, _ = callWithin(d, func() (struct{}, error) { return struct{}{}, w.Close() }, nil)
	}
}
