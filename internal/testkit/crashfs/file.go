package crashfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// file is an open file. It implements disk.File.
type file struct {
	session  *Session
	name     string
	inode    *inode
	writable bool
	closed   bool
}

func (f *file) do(kind Kind, operate func() error) error {
	return f.session.do(kind, f.name, func() error {
		switch {
		case f.closed:
			return failure(kind, f.name, fs.ErrClosed)
		case kind != Read && !f.writable:
			return failure(kind, f.name, syscall.EBADF)
		}
		return operate()
	})
}

// ReadAt implements [io.ReaderAt].
func (f *file) ReadAt(p []byte, offset int64) (n int, err error) {
	err = f.do(Read, func() error {
		if offset < int64(len(f.inode.cached)) {
			n = copy(p, f.inode.cached[offset:])
		}
		if n < len(p) {
			return io.EOF
		}
		return nil
	})
	return n, err
}

// WriteAt implements [io.WriterAt].
func (f *file) WriteAt(p []byte, offset int64) (int, error) {
	fault, err := f.session.begin(Write, f.name)
	if errors.Is(err, ErrStopped) {
		return 0, err
	}
	switch {
	case err != nil:
	case f.closed || !f.writable:
		err = failure(Write, f.name, fs.ErrClosed)
	case !f.session.disk.makeRoom(offset + int64(len(p)) - int64(len(f.inode.cached))):
		err = failure(Write, f.name, syscall.ENOSPC)
	default:
		if fault == Short {
			p = p[:len(p)/2]
			err = failure(Write, f.name, syscall.ENOSPC)
		}
		f.inode.write(slices.Clone(p), offset)
		return len(p), f.session.end(fault, err)
	}
	return 0, f.session.end(fault, err)
}

func (f *inode) write(p []byte, offset int64) {
	size := max(int64(len(f.cached)), offset+int64(len(p)))
	f.cached = resize(f.cached, size)
	copy(f.cached[offset:], p)
	f.writes = append(f.writes, write{offset: offset, data: p, size: size})
}

// Sync implements disk.File.
func (f *file) Sync() error { return f.sync(false) }

// sync is fsync(2) if all is set, and else fdatasync(2), which omits the time.
func (f *file) sync(all bool) error {
	fault, err := f.session.begin(Sync, f.name)
	if errors.Is(err, ErrStopped) {
		return err
	}
	switch {
	case f.closed:
		err = failure(Sync, f.name, fs.ErrClosed)
	case fault == IO:
		f.inode.writes = nil // they are lost without further errors
	case err == nil:
		f.inode.sync()
		if all {
			f.inode.syncedModified = f.inode.modified
		}
	}
	return f.session.end(fault, err)
}

// sync puts all writes on the disk.
func (f *inode) sync() {
	for _, w := range f.writes {
		f.synced = resize(f.synced, max(w.size, w.offset+int64(len(w.data))))
		copy(f.synced[w.offset:], w.data)
	}
	f.writes = nil
}

// Writeback implements disk.File. It has no effect: data that was not synced may survive a crash anyway.
func (f *file) Writeback(_, _ int64) error {
	return f.do(Writeback, func() error { return nil })
}

// Truncate implements disk.File.
func (f *file) Truncate(size int64) error {
	return f.do(Truncate, func() error { return f.setSize(Truncate, size) })
}

// Reserve implements disk.File.
func (f *file) Reserve(size int64) error {
	return f.do(Reserve, func() error { return f.setSize(Reserve, max(size, int64(len(f.inode.cached)))) })
}

func (f *file) setSize(kind Kind, size int64) error {
	if !f.session.disk.makeRoom(size - int64(len(f.inode.cached))) {
		return failure(kind, f.name, syscall.ENOSPC)
	}
	f.inode.cached = resize(f.inode.cached, size)
	f.inode.writes = append(f.inode.writes, write{size: size})
	return nil
}

// Size implements disk.File.
func (f *file) Size() (size int64, err error) {
	err = f.do(Read, func() error {
		size = int64(len(f.inode.cached))
		return nil
	})
	return size, err
}

// Close implements [io.Closer]. It is not an operation: it changes nothing.
func (f *file) Close() error {
	f.session.disk.mu.Lock()
	defer f.session.disk.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	open := f.session.disk.open
	if open[f.inode]--; open[f.inode] <= 0 {
		delete(open, f.inode)
	}
	return nil
}
