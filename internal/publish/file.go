package publish

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// File is a file that is written at any offset. Its methods may be called by several goroutines at once, except Seek,
// ReadFrom and Close.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.ReaderFrom // from the offset of Seek on; copies within the kernel if the reader is a file
	io.Seeker
	io.Closer

	// Sync makes content and size durable (fdatasync(2)).
	Sync() error

	// SyncAll makes permissions and times durable as well (fsync(2)).
	SyncAll() error

	// Writeback asks the system to begin writing a part of the file to the disk. It makes nothing durable.
	Writeback(offset, n int64) error

	// Forget drops a part of the file that was synced from the system's page cache, if it can.
	Forget(offset, n int64)

	// Reserve allocates space for a file of that size and makes the file so large. It fails if the disk is full. On
	// file systems that cannot reserve, it only sets the size.
	Reserve(size int64) error

	Truncate(size int64) error
	Size() (int64, error)
	Stat() (fs.FileInfo, error)
	Chmod(fs.FileMode) error
	Chown(user, group int) error
}

// NewFile returns an open file as a [File] without a lock.
func NewFile(f *os.File) File { return file{f} }

type file struct{ *os.File }

func (f file) Sync() error { return datasync(f.File) }

func (f file) SyncAll() error { return f.File.Sync() }

func (f file) Writeback(offset, n int64) error { return writeback(f.File, offset, n) }

func (f file) Forget(offset, n int64) { forget(f.File, offset, n) }

func (f file) Reserve(size int64) error {
	err := allocate(f.File, 0, size)
	if errors.Is(err, errors.ErrUnsupported) {
		return f.Truncate(size)
	}
	return err
}

func (f file) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// OpenLocked opens a file for reading and writing, creates it if needed, and locks it until it is closed. It fails with
// [ErrLocked] if the file is locked already, and with [ErrNotFile] if the name belongs to something else, such as a
// link. If the file has a second name, OpenLocked leaves it to that name and creates a new one.
func OpenLocked(root *os.Root, name string) (File, error) {
	for {
		f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|withoutWaiting, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lockFile(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		// The previous holder of the lock may have renamed or removed the file.
		named, err := isNamed(f, root, name)
		if err == nil && named {
			var links uint64
			if links, err = countLinks(f); err == nil && links < 2 {
				return lockedFile{file{f}}, nil
			}
			if err == nil {
				err = root.Remove(name)
			}
		}
		if err := errors.Join(err, closeLocked(f)); err != nil {
			return nil, err
		}
	}
}

type lockedFile struct{ file }

func (f lockedFile) Close() error { return closeLocked(f.File) }

// closeLocked unlocks the file first. Closing alone keeps the lock while a child process is being started, which has
// the file until it executes its program.
func closeLocked(f *os.File) error { return errors.Join(unlockFile(f), f.Close()) }

// isNamed reports whether a name belongs to an open file.
func isNamed(f *os.File, root *os.Root, name string) (bool, error) {
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !named.Mode().IsRegular():
		return false, &fs.PathError{Op: "open", Path: name, Err: ErrNotFile}
	}
	return os.SameFile(opened, named), nil
}

// HasName reports whether a file has a name. On systems that do not remove open files it always has one.
func HasName(f File) (bool, error) {
	opened := systemFile(f)
	if opened == nil {
		return true, nil
	}
	links, err := countLinks(opened)
	return links > 0, err
}

// systemFile returns nil if the file is not one of this package.
func systemFile(f File) *os.File {
	switch f := f.(type) {
	case lockedFile:
		return f.File
	case file:
		return f.File
	}
	return nil
}

// Lock is an exclusive lock, for which a file stands. It is released when it is closed and when the process ends.
type Lock struct {
	file *os.File
	root *os.Root
	name string
	seen inodeState // when the file last had its name
}

// NewLock takes a lock on a file, as [OpenLocked] does. The root must stay open.
func NewLock(root *os.Root, name string) (*Lock, error) {
	f, err := OpenLocked(root, name)
	if err != nil {
		return nil, err
	}
	l := &Lock{file: systemFile(f), root: root, name: name}
	if err := l.Held(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// Held fails if the file has lost its name, so that another process may have the lock as well. It usually takes one
// system call: a renamed file gets a new time of change, and only then is its name looked up. On systems that do not
// remove or rename open files, Held never fails.
func (l *Lock) Held() error {
	state, err := stateOf(l.file)
	if err != nil || state == l.seen {
		return err
	}
	named, err := isNamed(l.file, l.root, l.name)
	if err == nil && !named {
		err = &fs.PathError{Op: "lock", Path: l.file.Name(), Err: errNotHeld}
	}
	if err == nil {
		l.seen = state
	}
	return err
}

// Close releases the lock.
func (l *Lock) Close() error { return closeLocked(l.file) }
