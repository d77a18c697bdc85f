package fusefs

import (
	"errors"
	"io/fs"
	"syscall"
)

// largestErrno is what the kernel takes; an answer with another one it refuses, and the program would wait on.
const largestErrno = 511

// errno says what an error of the file system means to a program. It is never 0 for an error.
func (m *mount) errno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if m.config.Errno != nil {
		if e := m.config.Errno(err); e != 0 {
			return tolerable(e)
		}
	}
	if e, is := errors.AsType[syscall.Errno](err); is && e != 0 {
		return tolerable(e)
	}
	for _, known := range []struct {
		err   error
		errno syscall.Errno
	}{
		{fs.ErrNotExist, syscall.ENOENT},
		{fs.ErrPermission, syscall.EACCES},
		{fs.ErrExist, syscall.EEXIST},
		{fs.ErrInvalid, syscall.EINVAL},
		{errors.ErrUnsupported, syscall.ENOTSUP},
	} {
		if errors.Is(err, known.err) {
			return known.errno
		}
	}
	return syscall.EIO
}

// tolerable keeps away what has a meaning between the mount and the kernel: an operation answered with ENOSYS is never
// asked for again, and ENOTCONN is the mark of a mount whose process is gone.
func tolerable(e syscall.Errno) syscall.Errno {
	switch {
	case e == syscall.ENOSYS:
		return syscall.ENOTSUP
	case e == syscall.ENOTCONN, e == syscall.EINTR, e == syscall.EAGAIN, e > largestErrno:
		return syscall.EIO
	}
	return e
}
