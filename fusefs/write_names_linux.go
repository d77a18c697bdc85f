package fusefs

import (
	"maps"
	"slices"
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

// noteChanged notes that the file was changed here.
func (n *node) noteChanged() {
	if _, parent := n.Parent(); parent != nil {
		parent.Operations().(*node).named.Add(1)
	}
}

// holdPath returns a path that stays valid until the caller unlocks m.paths.
func (m *mount) holdPath(d *deadline, path func() (string, syscall.Errno)) (string, syscall.Errno) {
	if errno := m.sharePaths(d); errno != 0 {
		return "", errno
	}
	held, errno := path()
	if errno != 0 {
		m.paths.RUnlock()
	}
	return held, errno
}

// sharePaths makes renames wait until the caller unlocks m.paths.
func (m *mount) sharePaths(d *deadline) syscall.Errno {
	return lock(d, m.paths.TryRLock, m.paths.RLock, m.paths.RUnlock)
}

// lock takes a lock within the deadline.
func lock(d *deadline, try func() bool, lock, unlock func()) syscall.Errno {
	if try() {
		return 0
	}
	taken := make(chan struct{}, 1)
	go func() {
		lock()
		taken <- struct{}{}
	}()
	_, errno := wait(d, taken)
	if errno != 0 {
		go func() {
			<-taken
			unlock()
		}()
	}
	return errno
}
