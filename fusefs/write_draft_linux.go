package fusefs

import (
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// slowestDisk is the least that a disk on the other side is expected to write, in bytes per second. Calls that wait for
// it get more time the more was written.
const slowestDisk = 16 << 20

// longestDisk is the most time that a disk is given. Sizes may be lies, and a large file may be mostly a hole.
const longestDisk = time.Hour

// draft is a file that is being written: new content that has no name yet, or a file in place. The first error stays.
//
// Apart from attributes and fields that are atomic, it is used by whoever has the turn of its node.
type draft struct {
	m    *mount
	file WritableFile
	idle chan struct{} // holds a token while no write is under way

	inPlace  atomic.Bool   // it has its name, and others see what is written
	synced   atomic.Bool   // nothing was changed since the last sync
	settled  atomic.Bool   // others have it, or it has lost its name to a program
	unsynced atomic.Int64  // bytes written since the last sync
	failed   atomic.Uint32 // the first error, a syscall.Errno

	mu       sync.Mutex // guards what follows
	info     fs.FileInfo
	size     int64
	mode     fs.FileMode
	modified time.Time // when it was last written to; zero if it was not written to since info
	touched  bool      // its content was changed
}

func newDraft(m *mount, file WritableFile, info fs.FileInfo) *draft {
	w := &draft{m: m, file: file, info: info, size: info.Size(), mode: info.Mode(), idle: make(chan struct{}, 1)}
	w.idle <- struct{}{}
	return w
}

// write copies data and returns; the file system gets it meanwhile. It waits for the write before it, so that writes
// keep their order. If the wait fails because of a signal, nothing was written.
func (w *draft) write(d *deadline, data []byte, offset int64) syscall.Errno {
	if errno := w.drain(d); errno != 0 {
		return errno
	}
	trying, is := w.file.(interface {
		TryWriteAt(p []byte, offset int64) bool
	})
	if !is || !trying.TryWriteAt(data, offset) {
		if errno := w.start(d, data, offset); errno != 0 {
			return w.fail(errno)
		}
	}
	w.synced.Store(false)
	w.unsynced.Add(int64(len(data)))
	w.note(func() { w.size, w.modified, w.touched = max(w.size, offset+int64(len(data))), time.Now(), true })
	return 0
}

// start writes a copy of data in another goroutine. The caller has waited for the write before.
func (w *draft) start(d *deadline, data []byte, offset int64) syscall.Errno {
	buffer, errno := w.m.written.take(d, len(data))
	if errno != 0 {
		return errno
	}
	n := copy(buffer, data)
	<-w.idle
	go func() {
		written, err := guarded(w.m, func() (int, error) { return w.file.WriteAt(buffer[:n], offset) })
		if err == nil && written < n {
			err = io.ErrShortWrite
		}
		w.m.written.put(buffer)
		_ = w.fail(w.m.errno(err)) // the next call returns it
		w.idle <- struct{}{}
	}()
	return 0
}

// drain waits for the write that is under way, and returns the error that stays.
func (w *draft) drain(d *deadline) syscall.Errno {
	token, errno := wait(d, w.idle)
	if errno != 0 {
		return w.fail(errno)
	}
	w.idle <- token
	return syscall.Errno(w.failed.Load())
}

// note changes what attributes returns.
func (w *draft) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// fail makes errno the error that stays, and returns it. After a signal nothing is lost, so EINTR does not stay.
func (w *draft) fail(errno syscall.Errno) syscall.Errno {
	if errno != syscall.EINTR {
		w.failed.CompareAndSwap(0, uint32(errno))
	}
	return errno
}

func (w *draft) hasFailed() bool { return w.failed.Load() != 0 }

// isAwaited reports whether a program expects the content under a name, and knows of no failure.
func (w *draft) isAwaited() bool { return !w.settled.Load() && !w.hasFailed() }

// isUntouched reports whether it was new content to which nothing was written.
func (w *draft) isUntouched() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size == 0 && !w.touched
}

// settle notes that others have it, and that later writes are made in place.
func (w *draft) settle() {
	w.settled.Store(true)
	w.inPlace.Store(true)
}

// adopt replaces the attributes of a file in place after a change that left its content alone.
func (w *draft) adopt(info fs.FileInfo) { w.note(func() { w.info, w.mode = info, info.Mode() }) }

// change makes a change after everything that was written. If that fails, so does everything after it.
func (w *draft) change(d *deadline, do func() error, note func()) syscall.Errno {
	if errno := w.drain(d); errno != 0 {
		return errno
	}
	w.synced.Store(false)
	errno := w.fail(doWithin(d, do))
	if errno == 0 {
		w.note(note)
	}
	return errno
}

func (w *draft) truncate(d *deadline, size int64) syscall.Errno {
	return w.change(d, func() error { return w.file.Truncate(size) },
		func() { w.size, w.modified, w.touched = size, time.Now(), true })
}

func (w *draft) chmod(d *deadline, mode fs.FileMode) syscall.Errno {
	return w.change(d, func() error { return w.file.Chmod(mode) }, func() { w.mode = mode })
}

func (w *draft) chtimes(d *deadline, atime, mtime time.Time) syscall.Errno {
	return w.change(d, func() error { return w.file.Chtimes(atime, mtime) }, func() {
		if !mtime.IsZero() {
			w.modified = mtime
		}
	})
}

// read returns what was written, and what was there before.
func (w *draft) read(d *deadline, length int, offset int64) (*result, syscall.Errno) {
	if errno := w.drain(d); errno != 0 {
		return nil, errno
	}
	w.note(func() { length = int(max(0, min(int64(length), w.size-offset))) })
	if length == 0 {
		return &result{}, 0
	}
	buffer, errno := w.m.buffers.take(d, length)
	if errno != 0 {
		return nil, errno
	}
	k := newBlock(buffer, offset, length)
	go func() {
		n, err := guarded(w.m, func() (int, error) { return w.file.ReadAt(buffer[:length], offset) })
		switch {
		case n == length:
			err = nil
		case err == nil, err == io.EOF:
			err = io.ErrUnexpectedEOF
		}
		w.m.buffers.landed(k, err)
	}()
	return w.m.await(d, []*block{k}, offset, length)
}

// sync returns when the content is durable, and if the file is in place, its name too.
func (w *draft) sync(d *deadline) syscall.Errno {
	if errno := w.drain(d); errno != 0 || w.synced.Load() {
		return errno
	}
	d.extend(w.unsynced.Swap(0))
	errno := w.fail(doWithin(d, w.file.Sync))
	w.synced.Store(errno == 0)
	return errno
}

// publish gives the content its name, if it has none yet, and returns what the file is then.
func (w *draft) publish(d *deadline, path string, replace bool) (fs.FileInfo, syscall.Errno) {
	if errno := w.drain(d); errno != 0 {
		return nil, errno
	}
	d.extend(w.unsynced.Swap(0)) // Publish may sync, too
	info, errno := call(d, func() (fs.FileInfo, error) {
		publish := w.file.Flush
		if !w.inPlace.Load() {
			publish = func() error { return w.file.Publish(path, replace) }
		}
		if err := publish(); err != nil {
			return nil, err
		}
		return w.file.Stat()
	}, nil)
	if errno == 0 {
		w.settle()
		w.note(func() { w.info, w.modified = info, time.Time{} })
	}
	return info, w.fail(errno)
}

// Close closes the file.
func (w *draft) Close() error {
	_ = w.fail(syscall.EIO) // which a write returns that comes too late
	return w.file.Close()
}

// show fills in the attributes, and reports whether there are any. w may be nil.
func (w *draft) show(out *fuse.Attr) bool { return w != nil && w.attributes(out) == 0 }

// attributes fills in what the kernel is told of the content.
func (w *draft) attributes(out *fuse.Attr) syscall.Errno {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errno := w.m.attributes(w.info, out); errno != 0 {
		return errno
	}
	out.Size = uint64(w.size)
	out.Mode = kindOf(w.mode) | permissionsOf(w.mode)
	if !w.modified.IsZero() {
		out.SetTimes(&w.modified, &w.modified, &w.modified)
	}
	return 0
}
