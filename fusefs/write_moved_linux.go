package fusefs

import (
	"context"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// mayBeOurs reports whether an error may be due to a concurrent change made here.
func mayBeOurs(errno syscall.Errno) bool {
	return errno == syscall.ENOENT || errno == syscall.ENOTDIR || errno == syscall.ESTALE
}

// afterChanges waits for changes of names, and of this file, that are under way here. It reports whether the caller
// should try again.
func (n *node) afterChanges(ctx context.Context) bool {
	if !n.m.config.ReadWrite {
		return false
	}
	d := n.m.deadline(ctx)
	defer d.stop()
	resume, errno := n.holdChanges(d)
	if errno == 0 {
		resume()
	}
	return errno == 0
}

// holdChanges blocks changes of names, and of this file, until resume is called.
func (n *node) holdChanges(d *deadline) (resume func(), errno syscall.Errno) {
	w, errno := n.take(d)
	if errno != 0 {
		return nil, errno
	}
	if errno := n.m.paths.share(d); errno != 0 {
		w.giveBack()
		return nil, errno
	}
	return func() {
		n.m.paths.unshare()
		w.giveBack()
	}, 0
}

// steadily is call with a path. If it fails, and a program has renamed something here meanwhile, it tries again with
// the new path, while renames wait.
func steadily[T any](
	ctx context.Context, m *mount, path func() (string, syscall.Errno),
	do func(path string) (T, error), discard func(T),
) (T, syscall.Errno) {
	try := func() (value T, errno syscall.Errno) {
		path, errno := path()
		if errno != 0 {
			return value, errno
		}
		return call(ctx, m, func() (T, error) { return do(path) }, discard)
	}
	era := m.era.Load()
	value, errno := try()
	if !m.config.ReadWrite || !mayBeOurs(errno) {
		return value, errno
	}
	d := m.deadline(ctx)
	defer d.stop()
	if m.paths.share(d) != 0 {
		return value, errno
	}
	defer m.paths.unshare()
	if m.era.Load() == era {
		return value, errno
	}
	return try()
}

// readLatest reads the current version, after changes made here. If they disturb the read, it is repeated while they
// wait.
func (h *handle) readLatest(ctx context.Context, length int, offset int64) (fuse.ReadResult, syscall.Errno) {
	if !h.current().isLatest() {
		resume, errno := h.reopen(ctx)
		if errno != 0 {
			return nil, errno
		}
		resume()
	}
	current := h.current()
	result, errno := current.reader.read(ctx, length, offset)
	if errno != syscall.ESTALE && (errno == 0 || current == h.current()) {
		return result, errno
	}
	resume, errno := h.reopen(ctx)
	if errno != 0 {
		return nil, errno
	}
	defer resume()
	return h.current().reader.read(ctx, length, offset)
}

// current returns the handle that reads for h.
func (h *handle) current() *handle {
	if moved := h.moved.Load(); moved != nil {
		return moved
	}
	return h
}

// isLatest reports whether h is open in the current version, by the current path, if there is one.
func (h *handle) isLatest() bool {
	n := h.node
	n.mu.Lock()
	wanted, writes := n.version, n.writes
	n.mu.Unlock()
	if h.reader == nil || h.version != wanted || h.writes != writes {
		return false // versions that follow each other quickly may be equal
	}
	era := n.m.era.Load()
	if h.era.Load() == era {
		return true
	}
	if path, errno := n.path(); errno == 0 && path != h.path {
		return false
	}
	h.era.Store(era)
	return true
}

// reopen opens the current version for an open handle. Changes wait until resume is called.
func (h *handle) reopen(ctx context.Context) (resume func(), errno syscall.Errno) {
	d := h.node.m.deadline(ctx)
	defer d.stop()
	resume, errno = h.node.holdChanges(d)
	if errno != 0 || h.current().isLatest() {
		return resume, errno
	}
	if errno := h.openLatest(ctx); errno != 0 {
		resume()
		return nil, errno
	}
	return resume, 0
}

// openLatest is reopen while changes wait.
func (h *handle) openLatest(ctx context.Context) syscall.Errno {
	n := h.node
	era := n.m.era.Load()
	path, errno := n.path()
	if errno != 0 {
		return errno
	}
	opened, errno := call(ctx, n.m, func() (openedFile, error) { return n.m.openFile(path) }, n.m.discardOpened)
	if errno != 0 {
		if errno == syscall.ENOENT {
			errno = syscall.ESTALE
		}
		return errno
	}
	n.mu.Lock()
	wanted, writes := n.version, n.writes
	n.mu.Unlock()
	if versionOf(opened.info) != wanted {
		n.m.discard(opened.file)
		return syscall.ESTALE
	}
	reopened := newHandle(n, opened, path, era)
	reopened.writes = writes
	n.m.hold(reopened)
	if before := h.moved.Swap(reopened); before != nil {
		n.m.release(before)
	}
	return 0
}
