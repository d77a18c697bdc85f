package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const withoutWaiting = 0

// lockFile takes the lock of an open file, or fails with ErrLocked.
func lockFile(f *os.File) error {
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return nil
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = ErrLocked
	}
	return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// unlockFile does nothing: Windows gives the lock back when the file is closed.
func unlockFile(*os.File) error { return nil }

type lock struct{ *os.File }

func newLock(_ *rootDir, f *os.File, _ string) (Lock, error) { return lock{f}, nil }

func (lock) Held() error { return nil }

// countLinks does not look for others.
func countLinks(*os.File) (int, error) { return 1, nil }
