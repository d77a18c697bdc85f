package fusefs

import (
	"context"
	"errors"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

var (
	_ gofs.NodeSetattrer = (*node)(nil)
	_ gofs.NodeFsyncer   = (*node)(nil)
)

// openWriting is Open with Config.ReadWrite.
func (n *node) openWriting(ctx context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	writes := flags&syscall.O_ACCMODE != syscall.O_RDONLY
	if n.isSpoiled() {
		return nil, 0, syscall.ESTALE
	}
	h, kernelFlags, errno := n.join(), uint32(fuse.FOPEN_KEEP_CACHE), syscall.Errno(0)
	if h == nil {
		h, kernelFlags, errno = n.openVersion(ctx, writes)
	}
	if errno != 0 {
		return nil, 0, errno
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	pageless := n.writing != nil && n.writing.pageless > 0
	if pageless {
		kernelFlags |= fuse.FOPEN_DIRECT_IO
	}
	if !n.pages {
		kernelFlags &^= fuse.FOPEN_KEEP_CACHE
	}
	if !writes {
		return h, kernelFlags | fuse.FOPEN_NOFLUSH, 0
	}
	h.writes, h.pageless = true, pageless
	n.toWrite().count(h, 1)
	return h, kernelFlags, 0
}

// join returns a handle for the draft, or nil if there is none.
func (n *node) join() *handle {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writing.current() == nil {
		return nil
	}
	n.handles++
	return &handle{node: n}
}

// Write copies data and returns; the program goes on while the file system gets it. If that fails, later writes, syncs
// and closes fail.
func (h *handle) Write(ctx context.Context, data []byte, offset int64) (uint32, syscall.Errno) {
	if offset < 0 || offset+int64(len(data)) < 0 {
		return 0, syscall.EFBIG
	}
	h.settle()
	errno := h.node.inTurn(ctx, func(d *deadline) syscall.Errno {
		begun, errno := h.node.begin(d, false)
		if errno != 0 {
			return errno
		}
		return begun.write(d, data, offset)
	})
	if errno != 0 {
		return 0, errno
	}
	return uint32(len(data)), 0
}

// Flush is called when a descriptor is closed. It publishes what was written, so that close(2) returns its error. Other
// descriptors of the handle may be left.
func (h *handle) Flush(ctx context.Context) syscall.Errno {
	if !h.writes {
		return 0
	}
	n := h.node
	n.mu.Lock()
	if !h.closed {
		h.closed = true
		n.writing.unclosed--
	}
	n.mu.Unlock()
	return n.inTurn(context.WithoutCancel(ctx), n.publish)
}

// endWriting publishes what was written through a mapping since the last Flush.
func (h *handle) endWriting(ctx context.Context) {
	n := h.node
	d := n.m.deadline(context.WithoutCancel(ctx))
	w, errno := n.take(d)
	now := n.snapshot()
	failed := errno == 0 && now.writers == 1 && !now.removed && n.publish(d) != 0
	n.mu.Lock()
	if failed {
		n.dropDraft()
	}
	n.writing.count(h, -1)
	n.mu.Unlock()
	if errno == 0 {
		w.giveBack()
	}
}

// Fsync of a file publishes its content and makes it durable, with its name. Fsync of a directory makes the names in it
// durable that others see.
func (n *node) Fsync(ctx context.Context, h gofs.FileHandle, _ uint32) syscall.Errno {
	if !n.m.config.ReadWrite {
		return 0
	}
	ctx = context.WithoutCancel(ctx)
	if n.IsDir() {
		return n.syncDir(ctx)
	}
	return n.inTurn(ctx, n.sync)
}

// sync is Fsync of a file. The caller has the turn.
func (n *node) sync(d *deadline) syscall.Errno {
	w := n.snapshot()
	switch {
	case w.draft != nil && w.removed:
		return w.draft.drain(d) // nothing will see it
	case w.draft != nil:
		if errno := w.draft.sync(d); errno != 0 {
			return errno
		}
		return n.publish(d)
	case w.published != nil:
		return w.published.sync(d)
	}
	return n.syncNamed(d)
}

// syncNamed makes a file durable that no program writes to. It may have been closed without a sync, here or elsewhere.
func (n *node) syncNamed(d *deadline) syscall.Errno {
	if n.isOrphan() || n.Mode() != syscall.S_IFREG {
		return 0
	}
	for {
		n.mu.Lock()
		d.extend(n.version.size)
		n.mu.Unlock()
		_, errno := withPath(d, n.path, func(path string) (none struct{}, err error) {
			file, err := n.m.openToWrite(path, 0, 0)
			if err != nil {
				return none, err
			}
			return none, errors.Join(file.Sync(), file.Close())
		})
		switch {
		case errno == syscall.ENOENT:
			return 0 // it was removed
		case errno != syscall.ENFILE || !n.m.makeRoom(n):
			return errno
		}
	}
}

func (n *node) syncDir(ctx context.Context) syscall.Errno {
	files, is := n.m.config.FS.(interface{ SyncDir(name string) error })
	if !is {
		return syscall.EINVAL
	}
	path, errno := n.path()
	if errno != 0 {
		return errno
	}
	_, errno = call(n.m.deadline(ctx), func() (struct{}, error) { return struct{}{}, files.SyncDir(path) }, nil)
	return errno
}

// readDraft reads the draft, and reports whether there is one.
func (n *node) readDraft(ctx context.Context, length int, offset int64) (
	got *result, errno syscall.Errno, is bool,
) {
	if n.currentDraft() == nil {
		return nil, 0, false
	}
	errno = n.inTurn(ctx, func(d *deadline) (errno syscall.Errno) {
		if begun := n.currentDraft(); begun != nil {
			is = true
			got, errno = begun.read(d, length, offset)
		}
		return errno
	})
	return got, errno, is || errno != 0
}
