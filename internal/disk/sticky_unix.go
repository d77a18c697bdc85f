//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CreateSticky makes an empty file that has the sticky bit from the first moment on, which package os cannot do in a
// root. It fails with [fs.ErrExist] if there is something of that name.
func (r InRoot) CreateSticky(name string) (err error) {
	dir, err := r.Root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	for {
		fd, err := unix.Openat(int(dir.Fd()), filepath.Base(name), flags, unix.S_ISVTX|0o600)
		if err == nil {
			return os.NewFile(uintptr(fd), name).Close()
		}
		if err != unix.EINTR {
			return &fs.PathError{Op: "create", Path: name, Err: err}
		}
	}
}
