//go:build unix

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const withoutWaiting = unix.O_NONBLOCK // for the other end of a pipe

// lockFile takes the lock of an open file, or fails with ErrLocked.
func lockFile(f *os.File) error {
	var err error
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// unlockFile gives the lock of a file back, which is about to be closed. To close it is not enough while the process
// starts another one: that has the file, and the lock, until it executes its program.
func unlockFile(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		return &os.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}

// lock is an open file. Its time of change tells whether it may have been renamed.
type lock struct {
	*os.File
	dir     *rootDir
	name    string
	changed unix.Timespec
}

func newLock(dir *rootDir, f *os.File, name string) (Lock, error) {
	l := &lock{File: f, dir: dir, name: name}
	return l, l.Held()
}

func (l *lock) Close() error { return errors.Join(unlockFile(l.File), l.File.Close()) }

func (l *lock) Held() error {
	var info unix.Stat_t
	if err := unix.Fstat(int(l.Fd()), &info); err != nil {
		return &os.PathError{Op: "stat", Path: l.Name(), Err: err}
	}
	if info.Nlink > 0 && info.Ctim == l.changed {
		return nil
	}
	named, err := l.dir.isNamed(l.File, l.name)
	if err == nil && !named {
		err = &os.PathError{Op: "lock", Path: l.Name(), Err: errNotHeld}
	}
	if err == nil {
		l.changed = info.Ctim
	}
	return err
}

// countLinks is how many names a file has.
func countLinks(f *os.File) (int, error) {
	var info unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &info); err != nil {
		return 0, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return int(info.Nlink), nil
}
