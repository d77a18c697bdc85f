package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Rename implements [LogDir], in one step where the file system can.
func (d *rootDir) Rename(from, to string) error {
	fd := int(d.self.Fd())
	err := unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return d.InRoot.Rename(from, to)
	case err != nil:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
