package fusefs

import (
	"context"
	"errors"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// writeHandle is a regular file that a program has open to write, and maybe to read. All handles of a file write to the
// same draft of it.
//
// The kernel keeps no pages of what goes through a pageless one, which saves a copy. Such is the one that creates a
// file and only writes, and so are those that are opened beside it: the kernel drops the pages of others before such a
// write, and not after it.
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

// openWriting is Open of a mount that may be written to.
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

// join gives a handle for what is under construction here, or nil if nothing is.
func (n *node) join() *handle {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writing == nil || n.writing.draft == nil {
		return nil
	}
	n.handles++
	return &handle{node: n}
}

// Write takes data over and returns: the file system gets it while the program goes on. If it does not get it, a later
// write, a sync and the close fail.
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

// Flush is a close of one of the descriptors. What was written is published, so that its error is that of the close;
// there is no telling whether other descriptors of the handle are left.
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

// Release is the end of the last descriptor. What was written since it was flushed, by way of a mapping, is published.
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

// Fsync of a file returns when its content is there for others under its name, and both survive a loss of power. That
// of a directory makes the names in it do so that others see.
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
		return begun.drain(d) // nobody will see it
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

// syncNamed makes a file durable that nobody writes to. It may have been closed without a sync, here or elsewhere.
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
		return 0 // there is nothing left of it
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

// readDraft reads what is under construction. If nothing is, it says so.
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
