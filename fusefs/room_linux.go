package fusefs

import "context"

// roomAtOnce is how many files are given up at a time.
const roomAtOnce = 32

// makeRoom gives up some files that are written in place, and reports whether there were any: then the caller tries
// again what failed with ENFILE. It does not wait for the turn of a file, whose holder may need room, too. The caller
// does not hold the lock of the paths.
func (m *mount) makeRoom(n *node) (made bool) {
	count := 0
	m.inPlace.Range(func(key, _ any) bool {
		if other := key.(*node); other != n {
			m.inPlace.Delete(other)
			given, isOpen := other.giveUp()
			made = made || given
			if !given && isOpen {
				m.inPlace.Store(other, nil)
			}
			count++
		}
		return count < roomAtOnce
	})
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
	case !begun.inPlace.Load():
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
	if w.m.letGo(w) {
		// Its content is durable: an error changes nothing.
		_ = doWithin(d, w.Close)
	}
}
