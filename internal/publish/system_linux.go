package publish

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// descriptor is an open file.
type descriptor interface {
	syscall.Conn
	Name() string
}

// retried calls a function with the descriptor of a file, again if a signal interrupts it. Another goroutine may close
// the file: the descriptor stays that of the file until the function returns.
func retried(f descriptor, operation string, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if closed := conn.Control(func(fd uintptr) {
		err = uninterrupted(func() error { return call(int(fd)) })
	}); closed != nil {
		err = fs.ErrClosed
	}
	if err != nil {
		return &fs.PathError{Op: operation, Path: f.Name(), Err: err}
	}
	return nil
}

func renameNew(root *os.Root, from, to string) error {
	source, err := root.Open(filepath.Dir(from))
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // it was only read
	target := source
	if filepath.Dir(to) != filepath.Dir(from) {
		if target, err = root.Open(filepath.Dir(to)); err != nil {
			return err
		}
		defer func() { _ = target.Close() }() // like source
	}
	return renameNewAt(source, filepath.Base(from), target, filepath.Base(to))
}

// renameNewAt fails with [errors.ErrUnsupported] on file systems that cannot, such as NFS.
func renameNewAt(source *os.File, from string, target *os.File, to string) error {
	err := uninterrupted(func() error {
		return unix.Renameat2(int(source.Fd()), from, int(target.Fd()), to, unix.RENAME_NOREPLACE)
	})
	if errors.Is(err, unix.EINVAL) {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// datasync leaves out the times of a file, which would cost a write of their own. It allocates nothing, so the file
// must not be closed meanwhile: see [retried].
func datasync(f *os.File) error {
	err := uninterrupted(func() error { return unix.Fdatasync(int(f.Fd())) })
	if err != nil {
		return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	return nil
}

// writeback leaves failures of earlier writes to fdatasync: it does not wait, so the system looks for none.
func writeback(f descriptor, offset, n int64) error {
	err := syncRange(f, offset, n, unix.SYNC_FILE_RANGE_WRITE)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// beginWriteback starts writing a part of a file to the disk, and drops the pages before it, which the disk should have
// by then, from memory. So a large file does not push out what a database keeps there. Both are hints: Sync reports
// every failure.
func beginWriteback(f *os.File, offset, n int64) {
	_ = writeback(f, offset, n)
	if offset > n {
		forget(f, 0, offset-n)
	}
}

// forget gives the memory of a part that is on the disk back to the system. It is a hint.
func forget(f descriptor, offset, n int64) {
	_ = retried(f, "fadvise", func(fd int) error { return unix.Fadvise(fd, offset, n, unix.FADV_DONTNEED) })
}

// writebackError waits for what the system is writing of a file, and returns the error of anything that it wrote since
// the file was opened.
func writebackError(f descriptor) error {
	err := syncRange(f, 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
	if errors.Is(err, errors.ErrUnsupported) {
		return retried(f, "fdatasync", unix.Fdatasync)
	}
	return err
}

// syncRange fails with [errors.ErrUnsupported] for files that it does not know.
func syncRange(f descriptor, offset, n int64, flags int) error {
	return retried(f, "sync_file_range", func(fd int) error {
		err := unix.SyncFileRange(fd, offset, n, flags)
		if errors.Is(err, unix.ESPIPE) {
			return errors.ErrUnsupported
		}
		return err
	})
}

// allocate reserves space for a part of a file, which grows if the part ends beyond its end.
func allocate(f descriptor, offset, n int64) error {
	return retried(f, "fallocate", func(fd int) error { return unix.Fallocate(fd, 0, offset, n) })
}

// directFlag opens a file that is written past the page cache.
const directFlag = unix.O_DIRECT

// canShare means that a whole file system can be synced at once.
const canShare = true

// syncsTogether reports whether syncfs(2) reaches the disk. On FUSE it ends in the kernel, which asks the program
// behind it only for a sync of a single file.
func syncsTogether(dir *os.File) bool {
	var info unix.Statfs_t
	err := retried(dir, "fstatfs", func(fd int) error { return unix.Fstatfs(fd, &info) })
	return err == nil && info.Type != unix.FUSE_SUPER_MAGIC
}

// syncFileSystem makes everything durable that was written to the file system of an open directory. It returns the
// errors of all writes since the directory was opened, to any file (Linux 5.8; older kernels return only new ones).
func syncFileSystem(dir *os.File) error {
	err := retried(dir, "syncfs", unix.Syncfs)
	if errors.Is(err, unix.EPERM) { // from the filter of a container that does not know it
		return errors.Join(err, errors.ErrUnsupported)
	}
	return err
}

func sameFileSystem(a, b descriptor) bool {
	var infos [2]unix.Stat_t
	for i, f := range []descriptor{a, b} {
		if retried(f, "stat", func(fd int) error { return unix.Fstat(fd, &infos[i]) }) != nil {
			return false
		}
	}
	return infos[0].Dev == infos[1].Dev
}

// NextData returns where the next data of a file begins, from an offset on, and where it ends. At the end of the file
// both are the same. On a file system without holes it returns all of the file. It moves the file's offset.
func NextData(f *os.File, offset int64) (start, end int64, err error) {
	start, err = f.Seek(offset, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return offset, offset, nil
	}
	if errors.Is(err, unix.EINVAL) {
		end, err = f.Seek(0, io.SeekEnd)
		return offset, max(offset, end), err
	}
	if err != nil {
		return 0, 0, err
	}
	end, err = f.Seek(start, unix.SEEK_HOLE)
	return start, end, err
}
