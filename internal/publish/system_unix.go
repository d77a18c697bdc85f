//go:build unix

package publish

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const withoutWaiting = unix.O_NONBLOCK // for the other end of a pipe

// lockFile fails with ErrLocked. The lock belongs to the open file (flock(2)), so it also excludes this process.
func lockFile(f *os.File) error {
	err := uninterrupted(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
}

func unlockFile(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		return &fs.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}

// LockDirectory keeps others that call it out of a directory until release. It fails with [ErrLocked] if it is locked
// already. It does nothing where directories cannot be locked, as on Windows and some network file systems.
func LockDirectory(name string) (release func() error, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); errors.Is(err, ErrLocked) {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return closeLocked(f) }, nil
}

// inodeState changes when a file is renamed or loses a name. The zero value is that of no file.
type inodeState struct {
	links   uint64
	changed unix.Timespec
}

func stateOf(f *os.File) (inodeState, error) {
	var info unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &info); err != nil {
		return inodeState{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return inodeState{uint64(info.Nlink), info.Ctim}, nil //nolint:unconvert // its type depends on the system
}

func countLinks(f *os.File) (uint64, error) {
	state, err := stateOf(f)
	return state.links, err
}

// SyncOpen makes the names in an open directory durable.
func SyncOpen(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil // some file systems cannot, and need not
	}
	return err
}

// CreateSticky creates an empty file with the sticky bit in one step, which package os cannot do in a root. It fails
// with [fs.ErrExist] if the name is taken, and with [errors.ErrUnsupported] on systems without such a bit.
func CreateSticky(root *os.Root, name string) (err error) {
	dir, err := root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	var fd int
	err = uninterrupted(func() (err error) {
		fd, err = unix.Openat(int(dir.Fd()), filepath.Base(name), flags, unix.S_ISVTX|0o600)
		return err
	})
	if err != nil {
		return &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name).Close()
}

// uninterrupted repeats a call that a signal has interrupted.
func uninterrupted(call func() error) error {
	for {
		err := call()
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
