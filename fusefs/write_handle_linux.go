package fusefs

import (
	"context"
	"errors"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// writeHandle is a regular file that a program has open for writing, and maybe for reading. All handles of a file write
// to one draft.
//
// A pageless handle bypasses the kernel's page cache, which saves a copy. It is a handle that creates a file and only
// writes, or one that is opened while such a handle is open: the kernel drops pages of other handles before a write
// that bypasses them, and not after it.
type writeHandle struct {
	*handle
	pageless bool
}

var (
	_ gofs.FileReader    = (*writeHandle)(nil)
	_ gofs.FileWriter    = (*writeHandle)(nil)
	_ gofs.FileFlusher   = (*writeHandle)(nil)
	_ gofs.FileReleaser  = (*writeHandle)(nil)
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
	if n.writing == nil {
		n.writing = newWriting()
	}
	opened := &writeHandle{h, pageless}
	n.writing.add(opened)
	return opened, kernelFlags, 0
}

// join returns a handle for the draft, or nil if there is none.
func (n *node) join() *handle {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writing == nil || n.writing.draft == nil {
		return nil
	}
	n.handles++
	return &handle{node: n}
}

// Write copies data and returns; the program goes on while the file system gets it. If that fails, later writes, syncs
// and closes fail.
func (h *writeHandle) Write(ctx context.Context, data []byte, offset int64) (uint32, syscall.Errno) {
	if offset < 0 || offset+int64(len(data)) < 0 {
		return 0, syscall.EFBIG
	}
	h.settle()
	d := h.node.m.deadline(ctx)
	defer d.stop()
	w, errno := h.node.take(d)
	if errno != 0 {
		return 0, errno
	}
	defer w.giveBack()
	begun, errno := h.node.begin(d, false)
	if errno != 0 {
		return 0, errno
	}
	if errno := begun.write(d, data, offset); errno != 0 {
		return 0, errno
	}
	return uint32(len(data)), 0
}

// Flush is called when a descriptor is closed. It publishes what was written, so that close(2) returns its error. Other
// descriptors of the handle may be left.
func (h *writeHandle) Flush(ctx context.Context) syscall.Errno {
	d := h.node.m.deadline(context.WithoutCancel(ctx))
	defer d.stop()
	w, errno := h.node.take(d)
	if errno != 0 {
		return errno
	}
	defer w.giveBack()
	return h.node.publish(d)
}

// Release is called after the last close. It publishes what was written through a mapping since the last Flush.
func (h *writeHandle) Release(ctx context.Context) syscall.Errno {
	n := h.node
	d := n.m.deadline(context.WithoutCancel(ctx))
	defer d.stop()
	w, errno := n.take(d)
	n.mu.Lock()
	last := n.writing.writers == 1 && !n.writing.removed
	n.mu.Unlock()
	failed := errno == 0 && last && n.publish(d) != 0
	n.mu.Lock()
	if failed {
		n.dropDraft()
	}
	n.writing.remove(h)
	n.mu.Unlock()
	if errno == 0 {
		w.giveBack()
	}
	return h.handle.Release(ctx)
}

// Fsync of a file publishes its content and makes it durable, with its name. Fsync of a directory makes the names in it
// durable that others see.
func (n *node) Fsync(ctx context.Context, h gofs.FileHandle, _ uint32) syscall.Errno {
	if !n.m.config.ReadWrite {
		return 0
	}
	d := n.m.deadline(context.WithoutCancel(ctx))
	defer d.stop()
	if n.IsDir() {
		return n.syncDir(d)
	}
	w, errno := n.take(d)
	if errno != 0 {
		return errno
	}
	defer w.giveBack()
	n.mu.Lock()
	begun, published, removed := w.draft, w.published, w.removed
	n.mu.Unlock()
	switch {
	case begun != nil && removed:
		return begun.drain(d) // nothing will see it
	case begun != nil:
		if errno := begun.sync(d); errno != 0 {
			return errno
		}
		return n.publish(d)
	case published != nil:
		return published.sync(d)
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
		errno := n.syncPath(d)
		if errno != syscall.ENFILE || !n.m.makeRoom(n) {
			return errno
		}
	}
}

func (n *node) syncPath(d *deadline) syscall.Errno {
	path, errno := n.m.holdPath(d, n.path)
	if errno != 0 {
		return errno
	}
	defer n.m.paths.unshare()
	errno = doWithin(d, func() error {
		file, err := n.m.openToWrite(path, 0, 0)
		if err != nil {
			return err
		}
		return errors.Join(file.Sync(), file.Close())
	})
	if errno == syscall.ENOENT {
		return 0 // it was removed
	}
	return errno
}

func (n *node) syncDir(d *deadline) syscall.Errno {
	files, is := n.m.config.FS.(syncDirFS)
	if !is {
		return syscall.EINVAL
	}
	path, errno := n.path()
	if errno != 0 {
		return errno
	}
	return doWithin(d, func() error { return files.SyncDir(path) })
}

// readDraft reads the draft, and reports whether there is one.
func (n *node) readDraft(ctx context.Context, length int, offset int64) (
	result fuse.ReadResult, errno syscall.Errno, is bool,
) {
	if n.currentDraft() == nil {
		return nil, 0, false
	}
	d := n.m.deadline(ctx)
	defer d.stop()
	w, errno := n.take(d)
	if errno != 0 {
		return nil, errno, true
	}
	defer w.giveBack()
	begun := n.currentDraft()
	if begun == nil {
		return nil, 0, false
	}
	result, errno = begun.read(d, length, offset)
	return result, errno, true
}
