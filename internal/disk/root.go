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
func (r InRoot) Mkdir(dir string) error {
	if err := r.Root.Mkdir(dir, 0o700); !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// OpenLogDir implements [FS]. The root may be closed before the directory.
func (r InRoot) OpenLogDir(dir string) (LogDir, error) {
	info, err := r.Root.Stat(dir)
	if err := isDir(dir, info, err); err != nil {
		return nil, err
	}
	return newLogDir(r.Root.OpenRoot(dir))
}

// List returns the names in a directory, in any order.
func (r InRoot) List(dir string) ([]string, error) {
	f, err := r.Root.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// Create makes a new file to read and write, in place of one that may have the name. What a link of that name points to
// stays as it is.
func (r InRoot) Create(name string) (File, error) {
	if err := r.Root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return r.openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open opens a file, to read only unless writable.
func (r InRoot) Open(name string, writable bool) (File, error) {
	info, err := r.Root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: name, Err: ErrNotFile}
	}
	if writable {
		return r.openFile(name, os.O_RDWR)
	}
	return r.openFile(name, os.O_RDONLY)
}

func (r InRoot) openFile(name string, flags int) (File, error) {
	f, err := r.Root.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// LockedFile is what [InRoot.OpenLocked] and [Unlocked] give.
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
		f, err := r.openToLock(name)
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

// openToLock opens a file, creating it if need be, and takes the lock that it stands for.
func (r InRoot) openToLock(name string) (*os.File, error) {
	f, err := r.Root.OpenFile(name, os.O_RDWR|os.O_CREATE|withoutWaiting, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Unlocked makes an open file, which has no lock, one of the same methods.
func Unlocked(f *os.File) LockedFile { return unlockedFile{osFile{f}} }

type unlockedFile struct{ osFile }

func (f unlockedFile) SyncAll() error { return f.File.Sync() }

// IsNamed reports whether a file has a name still. Where an open file cannot be removed, it has one always.
func IsNamed(file LockedFile) (bool, error) {
	f := fileOfSystem(file)
	if f == nil {
		return true, nil
	}
	links, err := countLinks(f)
	return links > 0, err
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

// Rename gives a file another name in the same directory. It fails if there is a file of that name.
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

// SyncDir makes the names in a directory durable.
func (r InRoot) SyncDir(dir string) error { return durable.SyncDirIn(r.Root, dir) }
