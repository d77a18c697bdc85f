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

// handle is a regular file that a program has open to read, in one version.
type handle struct {
	node    *node
	version version
	writes  uint64 // of the node, when it was opened
	reader  *reader
	file    fs.File
	path    string                 // it was opened by
	era     atomic.Uint64          // of the mount, when it was last at that path
	moved   atomic.Pointer[handle] // what reads for it, if the file has become another version by what was written here

	fresh atomic.Bool // the kernel drops its pages at this open, and nothing shows yet that it has
}

var (
	_ gofs.FileReader   = (*handle)(nil)
	_ gofs.FileReleaser = (*handle)(nil)
)

// openedFile is a file of the file system with what it says of itself.
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

// Open asks the file system, each time: what the other side has closed is what is seen here. The kernel keeps its pages
// if they are of the version that is there.
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

// openVersion opens the version that is there now. If it is not known, the kernel has to look it up before it writes.
func (n *node) openVersion(ctx context.Context, writes bool) (*handle, uint32, syscall.Errno) {
	var era, before uint64
	var path string
	opened, errno := steadily(ctx, n.m, func() (now string, errno syscall.Errno) {
		era, before = n.m.era.Load(), n.writeState().writes
		path, errno = n.path()
		return path, errno
	}, n.m.openFile, n.m.discardOpened)
	if errno == syscall.ENOENT {
		// The kernel looks again. A program that wanted to create the file if it is not there then does.
		errno = syscall.ESTALE
	}
	if errno != 0 {
		return nil, 0, errno
	}
	now := versionOf(opened.info)
	h := newHandle(n, opened, path, era)
	h.writes = before

	n.mu.Lock()
	if n.handles > 0 && n.version != now {
		n.mu.Unlock()
		n.afterChanges(ctx)
		n.mu.Lock()
	}
	if n.handles > 0 && n.version != now {
		n.mu.Unlock()
		n.m.discard(opened.file)
		// The kernel looks the name up again, gets another node for the new version, and opens that.
		return nil, 0, syscall.ESTALE
	}
	known := n.version == now
	n.version, n.opened = now, opened.info
	n.handles++
	keep := n.pages && n.cached == now
	h.fresh.Store(!keep)
	// Without pages in the kernel, and with nobody else who reads them in, there is nothing that those stored could mix
	// with.
	store := known && !n.pages && n.handles == 1 && !n.m.config.ReadWrite
	n.mu.Unlock()

	n.m.hold(h)
	flagsOut := uint32(0)
	if keep || store && h.store() {
		flagsOut |= fuse.FOPEN_KEEP_CACHE
	}
	if !known && writes {
		// What is appended goes to where the kernel takes the end to be.
		_ = h.Release(ctx) // it gives no error
		return nil, 0, syscall.ESTALE
	}
	if !known {
		// The kernel has the size of another version. It must not read with that: beyond the end there would be zeros.
		if errno := n.NotifyContent(-1, 0); errno != 0 && errno != syscall.ENOENT {
			_ = h.Release(ctx) // it gives no error
			return nil, 0, syscall.ESTALE
		}
	}
	return h, flagsOut, 0
}

// store gives the kernel the pages of a file whose content came along with it, so that it need not ask for them. It
// reports whether the kernel has them.
func (h *handle) store() bool {
	content := heldContent(h.file)
	if len(content) == 0 || int64(len(content)) != h.version.size || h.node.WriteCache(0, content) != 0 {
		return false
	}
	h.settle()
	return true
}

// heldContent gives the content of a file that has all of it in memory, or nothing.
func heldContent(file fs.File) []byte {
	if held, is := file.(heldFile); is {
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

// check says whether the file still is what was opened. It is asked after each read from the file system.
func (h *handle) check() error {
	info, err := h.file.Stat()
	if err == nil && versionOf(info) != h.version {
		err = syscall.ESTALE
	}
	return err
}

// Read gives all that was asked for, up to the end of the file, or an error.
func (h *handle) Read(ctx context.Context, dest []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	h.settle()
	result, errno := h.read(ctx, len(dest), offset)
	if errno == syscall.ENOENT {
		// A program that has the file open does not expect that. It was removed.
		errno = syscall.ESTALE
	}
	return result, errno
}

func (h *handle) read(ctx context.Context, length int, offset int64) (fuse.ReadResult, syscall.Errno) {
	if !h.node.m.config.ReadWrite {
		return h.reader.read(ctx, length, offset)
	}
	for {
		before := h.node.writeState()
		if result, errno, is := h.node.readDraft(ctx, length, offset); is {
			return result, errno
		}
		result, errno := h.readLatest(ctx, length, offset)
		if errno != syscall.ESTALE || h.node.writeState() == before {
			return result, errno
		}
		// It is we who have begun to write it in place, or have ended that.
	}
}

// writeState tells whether something was written meanwhile.
type writeState struct {
	draft  *draft
	writes uint64
}

func (n *node) writeState() writeState {
	n.mu.Lock()
	defer n.mu.Unlock()
	state := writeState{writes: n.writes}
	if n.writing != nil {
		state.draft = n.writing.draft
	}
	return state
}

// settle notes that the kernel has carried out the open, and so that the pages it has from now on are of this version.
// Between the answer to an open and that, another open must not be told to keep the pages.
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

// Release is the end of the last descriptor of a handle.
func (h *handle) Release(context.Context) syscall.Errno {
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

// Close closes the file.
func (h *handle) Close() error {
	h.reader.close()
	return h.file.Close()
}
