package fusefs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"
)

// Config describes a mount. Only FS is required.
type Config struct {
	// FS is the file system to show. Its regular files must implement io.ReaderAt, and its methods must be safe for
	// concurrent use. If it is an [fs.ReadLinkFS], symbolic links are shown as such; if it is a [SpaceFS], df works.
	FS fs.FS

	// ReadWrite lets programs write. FS must then be a [WritableFS].
	ReadWrite bool

	// Name is the source in the mount table; "culvert" if it is empty. The type is always fuse.culvert.
	Name string

	// AllowOther gives all users of this machine access, as far as file permissions allow. All files belong to the user
	// who mounts. Users other than root need user_allow_other in the system's fuse.conf.
	AllowOther bool

	// Timeout is how long a program waits for FS before it gets EIO. It counts from when any read last received bytes,
	// or bytes last moved on the way to a [MovingFS], until 64 MiB have moved. 0 means 10 seconds.
	Timeout time.Duration

	// Memory bounds the buffers for reads and read-ahead of all files together, in bytes. 0 means 32 MiB; the minimum
	// is 8 MiB. With ReadWrite, writes that FS has not taken yet use up to a third more.
	//
	// In addition, each write request under way has a buffer of 1 MiB, which is kept until the garbage collector has
	// run twice. To bound the process, use [runtime/debug.SetMemoryLimit].
	Memory int64

	// Errno maps an error of FS to the one that a program gets. If it returns 0, or is nil, the mount uses the
	// syscall.Errno in the error, then fs.ErrNotExist and the like, and otherwise EIO. An error that says that a file
	// has changed must map to syscall.ESTALE.
	Errno func(error) syscall.Errno
}

// SpaceFS is a file system that knows how much space it has.
type SpaceFS interface {
	fs.FS

	// Space returns the size of the file system that holds name, its free bytes, and the free bytes that are available
	// without privileges.
	Space(name string) (total, free, available uint64, err error)
}

// MovingFS is a file system at the other end of a line that may be slow. A program waits while bytes move there. After
// 64 MiB without an answer they were for other programs, and it waits no longer than Config.Timeout.
type MovingFS interface {
	fs.FS

	// Moved returns how many bytes all calls have received and sent. Only a change is meaningful. It must not block.
	Moved() int64
}

// WritableFS is a file system that a mount with Config.ReadWrite writes to. Its methods are safe for concurrent use,
// and return the errors of the functions of package os with the same names.
type WritableFS interface {
	fs.FS

	// OpenFile opens a file for writing, as a [WritableFile]. flag is os.O_RDWR, combined with os.O_CREATE|os.O_EXCL
	// for a new name, with os.O_TRUNC for new content of an existing file, or with nothing for an existing file. In the
	// first two cases the file is a draft, which others do not see until it is published. In the last case it is
	// written in place: others see each write.
	OpenFile(name string, flag int, perm fs.FileMode) (fs.File, error)

	Mkdir(name string, perm fs.FileMode) error

	// Remove removes a file or an empty directory.
	Remove(name string) error

	// Rename replaces a file, or an empty directory by a directory.
	Rename(oldName, newName string) error

	Chmod(name string, mode fs.FileMode) error

	// Chtimes sets the times of a file. A zero time leaves that time unchanged.
	Chtimes(name string, atime, mtime time.Time) error
}

// WritableFile is a file that is being written: a draft, or a file in place. Its methods are safe for concurrent use,
// except that WriteAt is called once at a time. Close discards a draft that was not published, and may then return an
// error; of a file in place, only writes after the last Flush or Sync may be lost.
//
// If others have changed a file in place, calls fail with an error that wraps syscall.ESTALE.
//
// A file may have a method TryWriteAt(p []byte, offset int64) bool, which is WriteAt if that need not wait for
// anything, and otherwise returns false and writes nothing. It saves a copy and a goroutine for each small write.
type WritableFile interface {
	fs.File
	io.ReaderAt
	io.WriterAt

	// Truncate changes the size. Bytes that it adds are zero.
	Truncate(size int64) error

	// Flush returns when the file system has everything written. Stat then describes a file in place as it is there.
	Flush() error

	// Sync is Flush, and also makes the content durable, and the name of a file in place. If it was called for a draft,
	// Publish makes the name durable.
	Sync() error

	Chmod(mode fs.FileMode) error
	Chtimes(atime, mtime time.Time) error

	// Publish atomically gives a draft a name, which may differ from the one of OpenFile. If replace is false and the
	// name exists, it fails with fs.ErrExist. Afterwards the file is in place.
	Publish(name string, replace bool) error
}

const (
	subtype        = "culvert"
	defaultTimeout = 10 * time.Second
	defaultMemory  = 32 << 20
	leastMemory    = 8 << 20
)

// withDefaults returns the configuration with every field set, or an error if it is invalid.
func (c Config) withDefaults() (Config, error) {
	_, isWritable := c.FS.(WritableFS)
	switch {
	case c.FS == nil:
		return c, errors.New("Config.FS is nil: there is nothing to mount")
	case c.ReadWrite && !isWritable:
		return c, errors.New("Config.ReadWrite needs a Config.FS that is a WritableFS")
	case c.Timeout < 0 || c.Memory < 0:
		return c, errors.New("Config.Timeout or Config.Memory is negative")
	case strings.ContainsFunc(c.Name, isControl):
		return c, errors.New("Config.Name has control characters")
	}
	c.Name = cmp.Or(c.Name, subtype)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Memory = max(cmp.Or(c.Memory, defaultMemory), leastMemory)
	return c, nil
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// LostError is the error of [Mounted.Wait] and [Mounted.Unmount] if the mount ended before programs had closed all
// files that they had written to. Unsynced writes to these files may be lost.
type LostError struct{ Files int }

func (e *LostError) Error() string {
	return fmt.Sprintf("fusefs: files that programs had not closed, with writes that may be lost: %d", e.Files)
}
