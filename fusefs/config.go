package fusefs

import (
	"errors"
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

	// Timeout is how long a program waits for FS before it gets EIO. For a read it counts from when any read last
	// received bytes, up to six times as long in all. With a [MovingFS] it is how long nothing may move. 0 means 10
	// seconds.
	Timeout time.Duration

	// Memory bounds the buffers for reads and read-ahead of all files together, in bytes. 0 means 32 MiB; the minimum
	// is 8 MiB. With ReadWrite, writes that FS has not taken yet use up to a third more.
	//
	// In addition, go-fuse keeps buffers for requests, up to one of each size for each request under way, until the
	// garbage collector has run twice. To bound the process, use [runtime/debug.SetMemoryLimit].
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

// inodeInfo is a FileInfo that knows its inode number, which is the same for all names of a file.
type inodeInfo interface {
	Inode() uint64
}

// heldFile is a file whose content is all in memory.
type heldFile interface {
	// Content returns the content, or nil. The caller does not change it, or use it after Close.
	Content() []byte
}

const (
	defaultName    = "culvert"
	defaultTimeout = 10 * time.Second
	defaultMemory  = 32 << 20
	leastMemory    = 8 << 20
)

// withDefaults returns the configuration with every field set, or an error if it is invalid.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.FS == nil:
		return c, errors.New("Config.FS is nil: there is nothing to mount")
	case c.ReadWrite && !is[WritableFS](c.FS):
		return c, errors.New("Config.ReadWrite needs a Config.FS that is a WritableFS")
	case c.Timeout < 0 || c.Memory < 0:
		return c, errors.New("Config.Timeout or Config.Memory is negative")
	case strings.ContainsFunc(c.Name, isControl):
		return c, errors.New("Config.Name has control characters")
	}
	if c.Name == "" {
		c.Name = defaultName
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Memory == 0 {
		c.Memory = defaultMemory
	}
	c.Memory = max(c.Memory, leastMemory)
	return c, nil
}

func is[T any](value any) bool {
	_, is := value.(T)
	return is
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }
