package fusefs

import (
	"context"
	"syscall"
)

// mayBeOurs reports whether an error may be due to a concurrent change made here.
func mayBeOurs(errno syscall.Errno) bool {
	return errno == syscall.ENOENT || errno == syscall.ENOTDIR || errno == syscall.ESTALE
}

// afterChanges waits for changes of names, and of this file, that are under way here. It reports whether the caller
// should try again.
func (n *node) afterChanges(ctx context.Context) bool {
	return n.m.config.ReadWrite && n.undisturbed(ctx, func() syscall.Errno { return 0 }) == 0
}

// undisturbed calls do while changes of names, and of this file, wait.
func (n *node) undisturbed(ctx context.Context, do func() syscall.Errno) syscall.Errno {
	return n.inTurn(ctx, func(d *deadline) syscall.Errno {
		if errno := n.m.sharePaths(d); errno != 0 {
			return errno
		}
		defer n.m.paths.RUnlock()
		return do()
	})
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
		return call(m.deadline(ctx), func() (T, error) { return do(path) }, discard)
	}
	era := m.era.Load()
	value, errno := try()
	if !m.config.ReadWrite || !mayBeOurs(errno) {
		return value, errno
	}
	d := m.deadline(ctx)
	if m.sharePaths(d) != 0 {
		return value, errno
	}
	defer m.paths.RUnlock()
	if m.era.Load() == era {
		return value, errno
	}
	return try()
}

// readLatest reads the current version, after changes made here. If they disturb the read, it is repeated while they
// wait.
func (h *handle) readLatest(ctx context.Context, length int, offset int64) (*result, syscall.Errno) {
	if !h.current().isLatest() {
		errno := h.node.undisturbed(ctx, func() syscall.Errno { return h.reopen(ctx) })
		if errno != 0 {
			return nil, errno
		}
	}
	current := h.current()
	result, errno := current.reader.read(ctx, length, offset)
	if errno != syscall.ESTALE && (errno == 0 || current == h.current()) {
		return result, errno
	}
	errno = h.node.undisturbed(ctx, func() (errno syscall.Errno) {
		if errno := h.reopen(ctx); errno != 0 {
			return errno
		}
		current := h.current()
		result, errno = current.reader.read(ctx, length, offset)
		return errno
	})
	return result, errno
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
	now := n.writeState()
	if h.reader == nil || h.version != now.version || h.before != now.writes {
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

// reopen makes sure that an open handle reads the current version, while changes wait.
func (h *handle) reopen(ctx context.Context) syscall.Errno {
	if h.current().isLatest() {
		return 0
	}
	n := h.node
	era := n.m.era.Load()
	path, errno := n.path()
	if errno != 0 {
		return errno
	}
	open := func() (openedFile, error) { return n.m.openFile(path) }
	opened, errno := call(n.m.deadline(ctx), open, n.m.discardOpened)
	if errno != 0 {
		if errno == syscall.ENOENT {
			errno = syscall.ESTALE
		}
		return errno
	}
	now := n.writeState()
	if versionOf(opened.info) != now.version {
		n.m.discard(opened.file)
		return syscall.ESTALE
	}
	reopened := newHandle(n, opened, path, era)
	reopened.before = now.writes
	n.m.hold(reopened)
	if before := h.moved.Swap(reopened); before != nil {
		n.m.release(before)
	}
	return 0
}
