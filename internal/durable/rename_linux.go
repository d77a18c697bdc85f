package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// RenameNew renames a file and fails with an error that is [os.ErrExist] if the new name is taken.
func RenameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		// Some file systems, NFS among them, cannot.
		return renameByLink(from, to)
	case err != nil:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
