package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync leaves out the times of a file, which would cost a write of their own.
func datasync(f *os.File) error {
	return retried(f, "fdatasync", unix.Fdatasync)
}

// writeback leaves failures of earlier writes to fdatasync: without a flag to wait, sync_file_range(2) looks for none.
func writeback(f *os.File, offset, n int64) error {
	err := retried(f, "sync_file_range", func(fd int) error {
		return unix.SyncFileRange(fd, offset, n, unix.SYNC_FILE_RANGE_WRITE)
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ESPIPE) {
		return nil
	}
	return err
}

func reserve(f *os.File, size int64) error {
	err := retried(f, "fallocate", func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return f.Truncate(size)
	}
	return err
}

// retried calls a function with the descriptor of a file, again when a signal has interrupted it.
func retried(f *os.File, operation string, call func(fd int) error) error {
	for {
		err := call(int(f.Fd()))
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return &os.PathError{Op: operation, Path: f.Name(), Err: err}
		}
	}
}
