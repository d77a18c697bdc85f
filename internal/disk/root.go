package disk

import (
	"errors"
	"io"
	"os"

	"culvert/internal/durable"
)

// InRoot is the file system of an [os.Root]: nothing outside the root is touched, whatever links lead there. Names are
// relative to it.
type InRoot struct{ Root *os.Root }

// Mkdir implements [FS].
func (r InRoot) Mkdir(dir string) error { return mkdir(r.Root, dir) }

// List implements [FS].
func (r InRoot) List(dir string) ([]string, error) { return list(r.Root, dir) }

// Create implements [FS].
func (r InRoot) Create(name string) (File, error) { return create(r.Root, name) }

// Open implements [FS].
func (r InRoot) Open(name string, writable bool) (File, error) { return open(r.Root, name, writable) }

// LockedFile is what [InRoot.OpenLocked] gives.
type LockedFile interface {
	File
	io.ReaderFrom // at the place of Seek; copies through the kernel if the reader is a file
	io.Seeker

	// SyncAll is Sync, and makes permissions and times durable as well (fsync(2)).
	SyncAll() error

	Chmod(os.FileMode) error
	Chown(user, group int) error
	Stat() (os.FileInfo, error)
}

// OpenLocked opens a file to read and write, creating it if need be, and takes the lock that it stands for, which is
// given back when it is closed. It fails with [ErrLocked] if somebody else has it open in this way, and with
// [ErrNotFile] if there is something else of that name, to which it is not. A file that has another name as well is
// left to that one, and a new one made.
func (r InRoot) OpenLocked(name string) (LockedFile, error) {
	for {
		f, err := openToLock(r.Root, name, withoutWaiting)
		if err != nil {
			return nil, err
		}
		// Whoever had the lock may have renamed or removed the file before it was taken over.
		same, err := r.isNamed(f, name)
		if err == nil && same {
			var links int
			if links, err = countLinks(f); err == nil && links < 2 {
				return lockedFile{osFile{f}}, nil
			}
			if err == nil {
				err = r.Root.Remove(name)
			}
		}
		if err := errors.Join(err, unlockFile(f), f.Close()); err != nil {
			return nil, err
		}
	}
}

// lockedFile gives its lock back when it is closed.
type lockedFile struct{ osFile }

func (f lockedFile) SyncAll() error { return f.File.Sync() }

func (f lockedFile) Close() error { return errors.Join(unlockFile(f.File), f.File.Close()) }

// isNamed reports whether an open file has that name still.
func (r InRoot) isNamed(f *os.File, name string) (bool, error) {
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := r.Root.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !named.Mode().IsRegular():
		return false, &os.PathError{Op: "open", Path: name, Err: ErrNotFile}
	}
	return os.SameFile(opened, named), nil
}

// Rename implements [FS].
func (r InRoot) Rename(from, to string) error {
	err := r.Root.Link(from, to)
	switch {
	case err == nil:
		if err := r.Root.Remove(from); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	case errors.Is(err, os.ErrExist), errors.Is(err, os.ErrNotExist):
		return err
	}
	// The file system has no links. What is left is to look first; a file that appears in between is lost.
	_, err = r.Root.Lstat(to)
	switch {
	case err == nil:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: os.ErrExist}
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	return r.Root.Rename(from, to)
}

// Remove implements [FS].
func (r InRoot) Remove(name string) error { return r.Root.Remove(name) }

// SyncDir implements [FS].
func (r InRoot) SyncDir(dir string) error { return durable.SyncDirIn(r.Root, dir) }

// Lock implements [FS].
func (r InRoot) Lock(name string) (Lock, error) { return takeLock(r.Root, name, withoutWaiting) }
