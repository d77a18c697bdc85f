package fusefs

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"
)

// Config says what is mounted, and how. Only FS is required.
type Config struct {
	// FS is what the directory shows. Its regular files are io.ReaderAt. Where it is an [fs.ReadLinkFS], symbolic links
	// are shown as such, and where it is a [SpaceFS], df has figures. All its methods may be called at once.
	FS fs.FS

	// ReadWrite lets programs write. FS has to be a [WritableFS] for that.
	ReadWrite bool

	// Name stands in the mount table as what is mounted; "culvert" if it is empty. The type is always fuse.culvert.
	Name string

	// AllowOther lets all users of this machine in, as far as the permissions of the files do. Who mounts owns all
	// files. Users other than root need user_allow_other in the system's fuse.conf for it.
	AllowOther bool

	// Timeout is how long a program waits for FS before it gets EIO; a read, since any read last got a part of what it
	// asked for, and six times as long in all. With a [MovingFS] it is how long nothing may move. 0 is 10 seconds.
	Timeout time.Duration

	// Memory is how many bytes are lent to reads and to what is read ahead, of all files together. 0 is 32 MiB; the
	// least is 8 MiB. With ReadWrite there is a third more for what FS does not have yet of what was written.
	//
	// Beside it, go-fuse keeps buffers for the requests, up to one of each size and request under way, until the
	// collector runs twice. Where the memory of the process counts, bound it with [runtime/debug.SetMemoryLimit].
	Memory int64

	// Errno says what an error of FS means to a program; where it gives 0, or is nil, the mount decides: by the
	// syscall.Errno in the error, or by fs.ErrNotExist and its like, and else EIO. If FS refuses to read a file because
	// it has changed, that is syscall.ESTALE.
	Errno func(error) syscall.Errno
}

// SpaceFS is a file system that knows how much room there is.
type SpaceFS interface {
	fs.FS

	// Space gives the bytes of the file system that holds name: in all, unused, and those of the unused that may be had
	// without privileges.
	Space(name string) (total, free, available uint64, err error)
}

// MovingFS is a file system at the other end of a line, which may be slow. A program waits while bytes move there. If
// 64 MiB have moved without an answer, they were for other programs, and it waits no longer than Config.Timeout.
type MovingFS interface {
	fs.FS

	// Moved returns how many bytes have been received and sent, for all calls. Only a change of it has a meaning. It
	// must not wait.
	Moved() int64
}

// inodeInfo is a FileInfo that knows the number of the inode, which is the same for all names of one file.
type inodeInfo interface {
	Inode() uint64
}

// heldFile is a file that has all of its content in memory.
type heldFile interface {
	// Content gives it, or nothing. It is not changed, and not used after Close.
	Content() []byte
}

const (
	defaultName    = "culvert"
	defaultTimeout = 10 * time.Second
	defaultMemory  = 32 << 20
	leastMemory    = 8 << 20
)

// withDefaults gives the configuration with every field set, or says what is wrong with it.
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
