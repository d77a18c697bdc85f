package publish

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const withoutWaiting = 0

// lockFile fails with ErrLocked.
func lockFile(f *os.File) error {
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return nil
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = ErrLocked
	}
	return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// unlockFile does nothing: closing the file releases the lock.
func unlockFile(*os.File) error { return nil }

// LockDirectory does nothing: a directory cannot be locked.
func LockDirectory(string) (release func() error, err error) { return func() error { return nil }, nil }

// inodeState never changes: an open file keeps its name.
type inodeState struct{}

func stateOf(*os.File) (inodeState, error) { return inodeState{}, nil }

// countLinks does not look for other names.
func countLinks(*os.File) (uint64, error) { return 1, nil }

// SyncOpen does nothing: Windows cannot sync a directory.
func SyncOpen(*os.File) error { return nil }

// CreateSticky fails with [errors.ErrUnsupported].
func CreateSticky(*os.Root, string) error { return errors.ErrUnsupported }
