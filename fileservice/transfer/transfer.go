// Package transfer copies files and directories between this machine and a server of package fileservice: [Pull]
// fetches them, [Push] sends them. A transfer that was interrupted continues where it stopped.
package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/wire"
)

// ErrPartial: some files of a transfer failed, and the others are complete. The error of the first one is in the chain.
var ErrPartial = errors.New("fileservice: not all files were transferred")

// Config configures [Pull] and [Push].
type Config struct {
	// Remote is a path on the server, and Local a path in Root, with slashes as in io/fs. Both name the file or the
	// directory itself, not its parent: to copy "logs" to "logs", both are "logs". "." is the whole tree.
	Remote string
	Root   *os.Root
	Local  string

	// Include and Exclude are patterns of path.Match. A pattern without a slash matches the name of a file or
	// directory, and a pattern with a slash matches its path below Remote or Local. A directory that matches stands for
	// everything in it. If Include is not empty, only files that match one of its patterns are transferred. Exclude
	// takes precedence.
	Include, Exclude []string

	// Withhold, if not nil, is called by Push for each regular file of a directory. If it returns an error, the file is
	// skipped with that error. For example, it can recognize the user's own key by os.SameFile. It is called
	// concurrently.
	Withhold func(fs.FileInfo) error

	// Overwrite replaces existing files that differ in size or time. Without it, they fail with fs.ErrExist. Files of
	// the same size and time count as present and are not touched. Times are compared in nanoseconds, or with the
	// resolution of the copy's file system, such as the 2 s of FAT.
	Overwrite bool

	// DryRun reports by Notify what would be transferred, and transfers nothing.
	DryRun bool

	// Retry is called after each failure to reach the other end (ErrUnreachable), and reports whether to try again,
	// after a wait that grows from a tenth of a second to half a minute. Nil means never. It is called by several
	// goroutines, one at a time, but not for errors that end a transfer in any case, such as a full disk.
	Retry func(error) bool

	// Progress, if not nil, counts the work that is done.
	Progress *Progress

	// Notify, if not nil, is called with each event, one at a time. The transfer waits for it.
	Notify func(Event)

	walkRoom int64 // of a walk, for tests; 0 is maxWalk
}

// An EventKind is the kind of an Event.
type EventKind int

// The kinds of events.
const (
	FileDone    EventKind = iota // the file is complete, verified and durable
	FilePresent                  // the file existed, with the same size and time
	FilePlanned                  // a dry run would have transferred the file
	FileSkipped                  // the file is never transferred; Err is the reason, such as a link or a device
	FileFailed                   // the file failed with Err
	FileChanged                  // the file has changed at the source; its transfer begins again
	Waiting                      // the other end is unreachable, because of Err; the next attempt is after Wait
)

// An Event is passed to [Config.Notify].
type Event struct {
	Kind EventKind

	// Name is the path below Remote or Local. If Remote and Local name a file, it is the last element.
	Name string

	// Size is the size of the file, and Resumed the part of it that an earlier run had transferred, in bytes.
	Size, Resumed int64

	Err  error
	Wait time.Duration
}

// A Fault is a file that failed.
type Fault struct {
	Name string
	Err  error
}

// A Result is the outcome of a transfer.
type Result struct {
	// Files is the number of files that were transferred: each block and the whole file matched their hashes, and the
	// file is on the disk. In a dry run, it is the number of files that would be transferred.
	Files int64

	// Present is the number of files that existed, Skipped of files that are never transferred, and Failed of files
	// with a fault.
	Present, Skipped, Failed int64

	// Bytes is the number of bytes that were transferred. Resumed is the number of bytes that an earlier run had
	// transferred, of files that are complete now. In a dry run, Bytes would be transferred or resumed.
	Bytes, Resumed int64

	// Root is the hash of the file, as b3sum prints it, if a single file was transferred. Otherwise it is zero.
	Root fileservice.Sum

	Duration time.Duration

	// Faults has the first hundred.
	Faults []Fault
}

func (c *Config) check() error {
	if c.Root == nil {
		return errors.New("fileservice: a transfer needs a root")
	}
	for _, name := range []string{c.Remote, c.Local} {
		if _, err := fileservice.CheckPath(name); err != nil {
			return fmt.Errorf("fileservice: the path %q: %w", wire.Printable(name), err)
		}
	}
	for _, patterns := range [][]string{c.Include, c.Exclude} {
		for _, pattern := range patterns {
			if _, err := path.Match(pattern, ""); err != nil {
				return fmt.Errorf("fileservice: the pattern %q: %w", pattern, err)
			}
		}
	}
	return nil
}

// excludes reports whether patterns exclude a file, or a directory with everything in it.
func (c *Config) excludes(name string) bool { return matchesAny(c.Exclude, name) }

// includes reports whether patterns include a file or a directory that it is in.
func (c *Config) includes(name string) bool {
	if len(c.Include) == 0 {
		return true
	}
	for ; name != "."; name = path.Dir(name) {
		if matchesAny(c.Include, name) {
			return true
		}
	}
	return false
}

func matchesAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		compared := name
		if !strings.Contains(pattern, "/") {
			compared = path.Base(name)
		}
		if matched, _ := path.Match(strings.TrimSuffix(pattern, "/"), compared); matched {
			return true
		}
	}
	return false
}
