package fusefs

import (
	"errors"
	"io/fs"
	"syscall"
)

// largestErrno is the largest error that the kernel accepts. It refuses an answer with a larger one, and the program
// waits on.
const largestErrno = 511

// errno returns the error that a program gets for an error of the file system. It is 0 only for nil.
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

// tolerable replaces errors that mean something to the kernel: it never repeats an operation that returned ENOSYS, and
// ENOTCONN marks a mount whose process is gone.
func tolerable(e syscall.Errno) syscall.Errno {
	switch {
	case e == syscall.ENOSYS:
		return syscall.ENOTSUP
	case e == syscall.ENOTCONN, e == syscall.EINTR, e == syscall.EAGAIN, e > largestErrno:
		return syscall.EIO
	}
	return e
}
