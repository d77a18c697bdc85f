package fusefs

import (
	"maps"
	"slices"
	"sync"
	"syscall"
)

// newNames has the names that exist in the mount only: of files that are under construction and were never published.
type newNames struct {
	mu    sync.Mutex
	names map[*node]map[string]*node // by directory
}

func (n *newNames) get(dir *node, name string) *node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names[dir][name]
}

func (n *newNames) add(dir *node, name string, file *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names = map[*node]map[string]*node{}
	}
	if n.names[dir] == nil {
		n.names[dir] = map[string]*node{}
	}
	n.names[dir][name] = file
}

// remove takes out a name, if it is the one of file.
func (n *newNames) remove(dir *node, name string, file *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names[dir][name] != file {
		return
	}
	delete(n.names[dir], name)
	if len(n.names[dir]) == 0 {
		delete(n.names, dir)
	}
}

// in gives the new names in a directory, in order.
func (n *newNames) in(dir *node) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.names[dir]))
}

// changedNames are the names in a directory that we have changed, or what has them, since a listing of it began.
type changedNames map[string]struct{}

// maxChangedNames is how many of them are kept. If there are more, it may be any.
const maxChangedNames = 4096

func (n *node) listingBegins(d *directory) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listings == nil {
		n.listings = map[*directory]changedNames{}
	}
	n.listings[d] = changedNames{}
}

func (n *node) listingEnds(d *directory) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.listings, d)
}

// hasChanged reports whether what a listing says of a name may be from before a change of ours.
func (n *node) hasChanged(d *directory, name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed := n.listings[d]
	_, has := changed[name]
	return has || len(changed) >= maxChangedNames
}

// noteName notes that we have changed a name in a directory.
func (n *node) noteName(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, changed := range n.listings {
		if len(changed) < maxChangedNames {
			changed[name] = struct{}{}
		}
	}
}

// noteChanged notes that we have changed what has a name.
func (n *node) noteChanged() {
	if name, parent := n.Parent(); parent != nil {
		parent.Operations().(*node).noteName(name)
	}
}

// pathLock keeps paths as they are while something depends on them: a rename holds it alone. Its waits have a limit.
type pathLock struct {
	mu      sync.Mutex
	holders int  // that share it
	alone   bool // one holds it alone
	waiting int  // for it alone; nobody else shares it then
	changed chan struct{}
}

func (l *pathLock) share(d *deadline) syscall.Errno {
	return l.take(d, func() bool {
		if l.alone || l.waiting > 0 {
			return false
		}
		l.holders++
		return true
	})
}

func (l *pathLock) unshare() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holders--
	l.wake()
}

func (l *pathLock) lock(d *deadline) syscall.Errno {
	l.mu.Lock()
	l.waiting++
	l.mu.Unlock()
	errno := l.take(d, func() bool {
		if l.alone || l.holders > 0 {
			return false
		}
		l.alone = true
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	l.wake()
	return errno
}

func (l *pathLock) unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alone = false
	l.wake()
}

// take waits until try succeeds, which it calls with mu held.
func (l *pathLock) take(d *deadline, try func() bool) syscall.Errno {
	for {
		l.mu.Lock()
		if try() {
			l.mu.Unlock()
			return 0
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		if _, errno := wait(d, changed); errno != 0 {
			return errno
		}
	}
}

func (l *pathLock) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}
