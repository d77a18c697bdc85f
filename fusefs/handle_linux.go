package fusefs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// handle is a regular file that a program has open: to read one version, or to write. All handles of a file write to
// one draft.
//
// A pageless handle bypasses the kernel's page cache, which saves a copy. It is a handle that creates a file and only
// writes, or one that is opened while such a handle is open: the kernel drops pages of other handles before a write
// that bypasses them, and not after it.
type handle struct {
	node    *node
	version version
	before  uint64 // node.writes when it was opened
	reader  *reader
	file    fs.File
	path    string                 // by which it was opened
	era     atomic.Uint64          // mount.era when it last had that path
	moved   atomic.Pointer[handle] // reads for it after writes here made another version

	writes   bool // it is open for writing
	closed   bool // a program has closed a descriptor of it; guarded by node.mu if writes is set
	pageless bool

	fresh atomic.Bool // the kernel may not have dropped its pages at this open yet
}

var (
	_ gofs.FileReader   = (*handle)(nil)
	_ gofs.FileWriter   = (*handle)(nil)
	_ gofs.FileFlusher  = (*handle)(nil)
	_ gofs.FileReleaser = (*handle)(nil)
)

// openedFile is an open file of the file system, with its attributes.
type openedFile struct {
	file    fs.File
	content io.ReaderAt
	info    fs.FileInfo
}

func (m *mount) openFile(path string) (openedFile, error) {
	file, err := m.config.FS.Open(path)
	if err != nil {
		return openedFile{}, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = syscall.ESTALE
	}
	content, is := file.(io.ReaderAt)
	if err == nil && (!is || info.Size() < 0) {
		err = syscall.EIO
	}
	if err != nil {
		return openedFile{}, errors.Join(err, file.Close())
	}
	return openedFile{file, content, info}, nil
}

func (m *mount) discardOpened(late openedFile) { m.discard(late.file) }

// Open asks the file system each time, so it sees what the other side has closed. The kernel keeps its pages if they
// are of the current version.
func (n *node) Open(ctx context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if n.m.config.ReadWrite {
		return n.openWriting(ctx, flags)
	}
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, syscall.EROFS
	}
	h, kernelFlags, errno := n.openVersion(ctx, false)
	if errno != 0 {
		return nil, 0, errno
	}
	return h, kernelFlags | fuse.FOPEN_NOFLUSH, 0
}

// openVersion opens the current version. If the kernel does not know it, it must look it up before it writes.
func (n *node) openVersion(ctx context.Context, writes bool) (*handle, uint32, syscall.Errno) {
	var era, before uint64
	var path string
	opened, errno := steadily(ctx, n.m, func() (now string, errno syscall.Errno) {
		era, before = n.m.era.Load(), n.writeState().writes
		path, errno = n.path()
		return path, errno
	}, n.m.openFile, n.m.discardOpened)
	switch errno {
	case syscall.ENOENT, syscall.EINVAL, syscall.ELOOP:
		// It is gone, or a symbolic link. The kernel looks the name up again, and creates the file if the program
		// wanted that.
		errno = syscall.ESTALE
	}
	if errno != 0 {
		return nil, 0, errno
	}
	now := versionOf(opened.info)
	h := newHandle(n, opened, path, era)
	h.before = before

	n.mu.Lock()
	if n.handles > 0 && n.version != now {
		n.mu.Unlock()
		n.afterChanges(ctx)
		n.mu.Lock()
	}
	if n.version != now && (n.handles > 0 || n.writes != before) {
		n.mu.Unlock()
		n.m.discard(opened.file)
		// The kernel looks the name up again, gets another node for the new version, and opens that. If it was written
		// here since the open began, that is this node.
		return nil, 0, syscall.ESTALE
	}
	known := n.version == now
	n.version, n.opened = now, opened.info
	n.handles++
	keep := n.pages && n.cached == now
	h.fresh.Store(!keep)
	// If the kernel has no pages, and no other handle reads them in, stored pages cannot mix with others.
	store := known && !n.pages && n.handles == 1 && !n.m.config.ReadWrite
	n.mu.Unlock()

	n.m.hold(h)
	flagsOut := uint32(0)
	if keep || store && h.store() {
		flagsOut |= fuse.FOPEN_KEEP_CACHE
	}
	if !known && writes {
		// The kernel would append at the end that it knows.
		_ = h.Release(ctx) // it returns 0
		return nil, 0, syscall.ESTALE
	}
	if !known {
		// The kernel has the size of another version. Reads with that size would return zeros beyond the end.
		if errno := n.NotifyContent(-1, 0); errno != 0 && errno != syscall.ENOENT {
			_ = h.Release(ctx) // it returns 0
			return nil, 0, syscall.ESTALE
		}
	}
	return h, flagsOut, 0
}

// store sends the kernel the pages of a file whose content came with the open, so that it need not ask for them. It
// reports whether the kernel has them.
func (h *handle) store() bool {
	content := heldContent(h.file)
	if len(content) == 0 || int64(len(content)) != h.version.size || h.node.WriteCache(0, content) != 0 {
		return false
	}
	h.settle()
	return true
}

// heldContent returns the content of a file that is all in memory, or nil. It must not be changed, or used after Close.
func heldContent(file fs.File) []byte {
	if held, is := file.(interface{ Content() []byte }); is {
		return held.Content()
	}
	return nil
}

func newHandle(n *node, opened openedFile, path string, era uint64) *handle {
	h := &handle{node: n, version: versionOf(opened.info), file: opened.file, path: path}
	h.era.Store(era)
	h.reader = newReader(n.m, opened.content, opened.info.Size(), h.check)
	h.reader.held = len(heldContent(opened.file)) > 0
	return h
}

// check returns an error if the file is no longer the opened version. It is called after each read from the file
// system.
func (h *handle) check() error {
	info, err := h.file.Stat()
	if err == nil && versionOf(info) != h.version {
		err = syscall.ESTALE
	}
	return err
}

// Read returns a [*pending] read at once. It will have all bytes that were asked for, up to the end of the file.
func (h *handle) Read(_ context.Context, dest []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	h.settle()
	return &pending{handle: h, length: len(dest), offset: offset}, 0
}

// writeState changes whenever a file is written here.
type writeState struct {
	draft   *draft
	version version
	writes  uint64
}

func (n *node) writeState() writeState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return writeState{draft: n.writing.current(), version: n.version, writes: n.writes}
}

// settle notes that the kernel has completed the open, so that its pages are of this version from now on. Until then,
// no other open may keep the pages.
func (h *handle) settle() {
	if !h.fresh.Load() || !h.fresh.CompareAndSwap(true, false) {
		return
	}
	n := h.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.version == h.version {
		n.cached, n.pages = h.version, true
	}
}

func (h *handle) Release(ctx context.Context) syscall.Errno {
	if h.writes {
		h.endWriting(ctx)
	}
	h.settle()
	n := h.node
	n.mu.Lock()
	n.handles--
	if n.handles == 0 {
		n.unused()
	}
	n.mu.Unlock()
	if moved := h.moved.Load(); moved != nil {
		n.m.release(moved)
	}
	n.m.release(h)
	return 0
}

// Close waits for reads, and closes the file.
func (h *handle) Close() error {
	h.reader.close()
	return h.file.Close()
}
