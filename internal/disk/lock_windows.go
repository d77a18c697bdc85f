package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock implements [FS].
func (OS) Lock(name string) (Lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return lock{f}, nil
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = ErrLocked
	}
	return nil, errors.Join(&os.PathError{Op: "lock", Path: name, Err: err}, f.Close())
}

type lock struct{ *os.File }

func (lock) Held() error { return nil }
