package fusefs

import (
	"io/fs"
	"syscall"
	"time"
)

// change does something to the file after all that was written, and fails for good if that fails.
func (w *draft) change(d *deadline, do func() error) syscall.Errno {
	if errno := w.drain(d); errno != 0 {
		return errno
	}
	w.noteUnsynced()
	_, errno := callWithin(d, func() (struct{}, error) { return struct{}{}, do() }, nil)
	return w.fail(errno)
}

func (w *draft) truncate(d *deadline, size int64) syscall.Errno {
	if errno := w.change(d, func() error { return w.file.Truncate(size) }); errno != 0 {
		return errno
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size, w.modified, w.touched = size, time.Now(), true
	return 0
}

func (w *draft) chmod(d *deadline, mode fs.FileMode) syscall.Errno {
	if errno := w.change(d, func() error { return w.file.Chmod(mode) }); errno != 0 {
		return errno
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mode = mode
	return 0
}

func (w *draft) chtimes(d *deadline, atime, mtime time.Time) syscall.Errno {
	if errno := w.change(d, func() error { return w.file.Chtimes(atime, mtime) }); errno != 0 {
		return errno
	}
	if !mtime.IsZero() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.modified = mtime
	}
	return 0
}
