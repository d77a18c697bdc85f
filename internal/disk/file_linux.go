package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// opened is an open file.
type opened interface {
	Fd() uintptr
	Name() string
}

// datasync leaves out the times of a file, which would cost a write of their own.
func datasync(f opened) error {
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
	err := allocate(f, 0, size)
	if errors.Is(err, errors.ErrUnsupported) {
		return f.Truncate(size)
	}
	return err
}

// allocate takes the space for a part of a file, which grows if the part ends beyond its end.
func allocate(f *os.File, offset, n int64) error {
	return retried(f, "fallocate", func(fd int) error { return unix.Fallocate(fd, 0, offset, n) })
}

// directFlag opens a file that is written past the page cache.
const directFlag = unix.O_DIRECT

// canShare says that a whole file system can be synced at once.
const canShare = true

// syncsTogether says whether syncfs(2) reaches the disk. That of FUSE ends in the kernel: the program behind it is
// asked only when a single file is synced.
func syncsTogether(dir *os.File) bool {
	var info unix.Statfs_t
	err := retried(dir, "fstatfs", func(fd int) error { return unix.Fstatfs(fd, &info) })
	return err == nil && info.Type != unix.FUSE_SUPER_MAGIC
}

// syncFileSystem makes all that was written to the file system of an open directory durable. It gives the errors of
// writes since the directory was opened, of whatever file (Linux 5.8; those before give only what goes wrong now).
func syncFileSystem(dir *os.File) error {
	err := retried(dir, "syncfs", unix.Syncfs)
	if errors.Is(err, unix.EPERM) { // by the filter of a container that does not know it
		return errors.Join(err, errors.ErrUnsupported)
	}
	return err
}

// writebackError gives the error of what the system has written of a file since it was opened, and waits for what it is
// writing.
func writebackError(f opened) error {
	err := retried(f, "sync_file_range", func(fd int) error {
		return unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
	})
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.ESPIPE) {
		return datasync(f)
	}
	return err
}

func sameFileSystem(a, b opened) bool {
	var infos [2]unix.Stat_t
	for i, f := range []opened{a, b} {
		if err := unix.Fstat(int(f.Fd()), &infos[i]); err != nil {
			return false
		}
	}
	return infos[0].Dev == infos[1].Dev
}

// retried calls a function with the descriptor of a file, again when a signal has interrupted it.
func retried(f opened, operation string, call func(fd int) error) error {
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
