package fusefs

import "context"

// roomAtOnce is how many files are closed on the other side at a time.
const roomAtOnce = 32

// makeRoom closes some files that are written in place on the other side, which may limit how many are open; their next
// write opens them again. It reports whether there were any: then the caller retries a call that failed with ENFILE. It
// does not wait for the turn of a file, since its holder may need room too. The caller must not hold m.paths.
func (m *mount) makeRoom(n *node) bool {
	closed := 0
	m.inPlace.Range(func(key, _ any) bool {
		if other := key.(*node); other != n {
			m.inPlace.Delete(other)
			switch given, isOpen := other.giveUp(); {
			case given:
				closed++
			case isOpen:
				m.inPlace.Store(other, nil)
			}
		}
		return closed < roomAtOnce
	})
	return closed > 0
}

// giveUp syncs a file in place and closes it on the other side. It reports whether it closed one, and whether one may
// still be open.
func (n *node) giveUp() (given, isOpen bool) {
	select {
	case <-n.snapshot().turn:
	default:
		return false, true
	}
	w := n.snapshot()
	defer w.giveBack()
	d := n.m.deadline(context.Background())
	switch {
	case w.removed:
		return false, false
	case w.draft == nil:
	case !w.draft.inPlace.Load():
		return false, true
	case w.draft.sync(d) != 0 || n.publish(d) != 0:
		return false, true // a program will get the error
	}
	published := n.snapshot().published
	if published == nil || published.sync(d) != 0 {
		return false, published != nil
	}
	n.mu.Lock()
	given = n.writing.published == published // it may have been closed meanwhile
	if given {
		n.writing.published = nil
	}
	n.mu.Unlock()
	if given && n.m.letGo(published) {
		_ = doWithin(d, published.Close) // its content is durable, so an error changes nothing
	}
	return given, false
}
