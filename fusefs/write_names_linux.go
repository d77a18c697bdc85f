package fusefs

import (
	"maps"
	"slices"
	"sync/atomic"
	"syscall"
)

// made returns the file whose name exists in this mount only: a draft that was never published.
func (n *node) made(name string) *node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.files[name]
}

func (n *node) addMade(name string, file *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.files == nil {
		n.files = map[string]*node{}
	}
	n.files[name] = file
}

// removeMade removes a name if it is file's.
func (n *node) removeMade(name string, file *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.files[name] == file {
		delete(n.files, name)
	}
}

// madeNames returns the names that exist in this mount only, in order.
func (n *node) madeNames() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.files))
}

// changedNames are names in a directory that were changed here since a listing of it began.
type changedNames map[string]struct{}

// maxChangedNames is how many changed names are kept. If there are more, any name may have changed.
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

// hasChanged reports whether a listing's attributes of a name may be from before a change made here.
func (n *node) hasChanged(d *directory, name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed := n.listings[d]
	_, has := changed[name]
	return has || len(changed) >= maxChangedNames
}

// noteName notes that a name in the directory was changed here.
func (n *node) noteName(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, changed := range n.listings {
		if len(changed) < maxChangedNames {
			changed[name] = struct{}{}
		}
	}
}

// noteChanged notes that the file was changed here.
func (n *node) noteChanged() {
	if name, parent := n.Parent(); parent != nil {
		parent.Operations().(*node).noteName(name)
	}
}

// pathLock is a read-write lock whose waits have deadlines. Operations that depend on a path share it; a rename holds
// it alone. A waiting rename keeps new sharers out.
type pathLock struct {
	entry   chan struct{} // held by a rename, and while a sharer enters
	room    chan struct{} // held by a rename, or by all sharers together
	sharers atomic.Int64
}

func newPathLock() *pathLock {
	l := &pathLock{entry: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	l.unlock()
	return l
}

// holdPath returns a path that stays valid until the caller unshares m.paths.
func (m *mount) holdPath(d *deadline, path func() (string, syscall.Errno)) (string, syscall.Errno) {
	if errno := m.paths.share(d); errno != 0 {
		return "", errno
	}
	held, errno := path()
	if errno != 0 {
		m.paths.unshare()
	}
	return held, errno
}

func (l *pathLock) share(d *deadline) syscall.Errno {
	if _, errno := wait(d, l.entry); errno != 0 {
		return errno
	}
	defer func() { l.entry <- struct{}{} }()
	if l.sharers.Add(1) > 1 {
		return 0
	}
	_, errno := wait(d, l.room)
	if errno != 0 {
		l.sharers.Add(-1)
	}
	return errno
}

func (l *pathLock) unshare() {
	if l.sharers.Add(-1) == 0 {
		l.room <- struct{}{}
	}
}

func (l *pathLock) lock(d *deadline) syscall.Errno {
	if _, errno := wait(d, l.entry); errno != 0 {
		return errno
	}
	_, errno := wait(d, l.room)
	if errno != 0 {
		l.entry <- struct{}{}
	}
	return errno
}

func (l *pathLock) unlock() {
	l.room <- struct{}{}
	l.entry <- struct{}{}
}
