package publish

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

type dir struct {
	root *os.Root
	file *os.File // the same directory
}

func newDir(root *os.Root) (dir, error) {
	file, err := root.Open(".")
	return dir{root, file}, err
}

func (d dir) stat() (fs.FileInfo, error) { return d.file.Stat() }

func (d dir) sync() error { return SyncOpen(d.file) }

func (d dir) close() error { return errors.Join(d.file.Close(), d.root.Close()) }

func (d dir) readNames(n int) ([]string, error) { return d.file.Readdirnames(n) }

func (d dir) lstat(name string) (fs.FileInfo, error) {
	var s unix.Stat_t
	err := uninterrupted(func() error {
		return unix.Fstatat(int(d.file.Fd()), name, &s, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return newDirInfo(name, &s), nil
}

func (d dir) open(name string) (*DirFile, error) {
	return d.openAt(name, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

func (d dir) createUnnamed(permissions fs.FileMode) (*DirFile, error) {
	return d.openAt("new file", ".", unix.O_WRONLY|unix.O_TMPFILE, uint32(permissions.Perm()))
}

// create spares what package os asks about a file that may be a pipe.
func (d dir) create(name string, permissions fs.FileMode) (*os.File, error) {
	f, err := d.openAt(name, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, uint32(permissions.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(f.fd), name), nil
}

func (d dir) rename(from, to string) error {
	return renameNewAt(d.file, from, d.file, to)
}

func (d dir) openAt(name, path string, flags int, permissions uint32) (*DirFile, error) {
	f := &DirFile{name: name}
	err := uninterrupted(func() (err error) {
		f.fd, err = unix.Openat(int(d.file.Fd()), path, flags|unix.O_CLOEXEC, permissions)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

// isUnsupported knows the errors of file systems and kernels without O_TMPFILE (open(2)).
func isUnsupported(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL)
}

// link tries two ways: the first needs a privilege before Linux 6.10, the second needs /proc.
func (d dir) link(file *DirFile, name string) error {
	to := int(d.file.Fd())
	err := unix.Linkat(file.fd, "", to, name, unix.AT_EMPTY_PATH)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) {
		err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(file.fd), to, name, unix.AT_SYMLINK_FOLLOW)
	}
	if err != nil {
		return &fs.PathError{Op: "link", Path: name, Err: err}
	}
	return nil
}

// DirFile is a file of a [Dir]. It is a bare descriptor: no finalizer closes it, and no method may be called after
// Close.
type DirFile struct {
	fd   int
	name string
}

// SyscallConn implements [syscall.Conn]. Only Control works.
func (f *DirFile) SyscallConn() (syscall.RawConn, error) { return bare(f.fd), nil }

// bare implements [syscall.RawConn] for a descriptor that nothing closes while it is used.
type bare int

func (b bare) Control(call func(fd uintptr)) error { call(uintptr(b)); return nil }
func (bare) Read(func(fd uintptr) bool) error      { return errors.ErrUnsupported }
func (bare) Write(func(fd uintptr) bool) error     { return errors.ErrUnsupported }

// Name returns the name by which the file was opened.
func (f *DirFile) Name() string { return f.name }

func (f *DirFile) fail(operation string, err error) error {
	return &fs.PathError{Op: operation, Path: f.name, Err: err}
}

// Stat describes the file.
func (f *DirFile) Stat() (fs.FileInfo, error) {
	var s unix.Stat_t
	if err := uninterrupted(func() error { return unix.Fstat(f.fd, &s) }); err != nil {
		return nil, f.fail("stat", err)
	}
	return newDirInfo(f.name, &s), nil
}

// ReadAt implements [io.ReaderAt].
func (f *DirFile) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		var more int
		err := uninterrupted(func() (err error) {
			more, err = unix.Pread(f.fd, p[n:], offset+int64(n))
			return err
		})
		if err != nil {
			return n, f.fail("read", err)
		}
		if more == 0 {
			return n, io.EOF
		}
		n += more
	}
	return n, nil
}

// Write appends to what was written before.
func (f *DirFile) Write(p []byte) (n int, err error) {
	for n < len(p) {
		var more int
		err := uninterrupted(func() (err error) {
			more, err = unix.Write(f.fd, p[n:])
			return err
		})
		if err != nil {
			return n, f.fail("write", err)
		}
		n += more
	}
	return n, nil
}

// SetModified sets the modification time.
func (f *DirFile) SetModified(modified time.Time) error {
	to, err := unix.TimeToTimespec(modified)
	if err == nil {
		times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, to}
		err = unix.UtimesNanoAt(f.fd, "", times, unix.AT_EMPTY_PATH)
	}
	if err != nil {
		return f.fail("chtimes", err)
	}
	return nil
}

// syncAll makes content, permissions and times durable.
func (f *DirFile) syncAll() error { return retried(f, "fsync", unix.Fsync) }

// Close closes the file.
func (f *DirFile) Close() error {
	// Linux closes the file even if it reports an interruption.
	if err := unix.Close(f.fd); err != nil && !errors.Is(err, unix.EINTR) {
		return f.fail("close", err)
	}
	return nil
}

// dirInfo describes a file. Sys has the fields that identify a version.
type dirInfo struct {
	name string
	mode fs.FileMode
	stat syscall.Stat_t
}

func newDirInfo(name string, s *unix.Stat_t) *dirInfo {
	i := &dirInfo{name: name, mode: fs.FileMode(s.Mode & 0o777)}
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		i.mode |= fs.ModeDir
	case unix.S_IFLNK:
		i.mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		i.mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		i.mode |= fs.ModeSocket
	case unix.S_IFCHR:
		i.mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		i.mode |= fs.ModeDevice
	default:
		i.mode |= fs.ModeIrregular
	}
	i.stat.Dev, i.stat.Ino, i.stat.Nlink, i.stat.Mode, i.stat.Size = s.Dev, s.Ino, s.Nlink, s.Mode, s.Size
	i.stat.Mtim, i.stat.Ctim = syscall.Timespec(s.Mtim), syscall.Timespec(s.Ctim)
	return i
}

func (i *dirInfo) Name() string       { return i.name }
func (i *dirInfo) Size() int64        { return i.stat.Size }
func (i *dirInfo) Mode() fs.FileMode  { return i.mode }
func (i *dirInfo) ModTime() time.Time { return time.Unix(i.stat.Mtim.Unix()) }
func (i *dirInfo) IsDir() bool        { return i.mode.IsDir() }
func (i *dirInfo) Sys() any           { return &i.stat }
