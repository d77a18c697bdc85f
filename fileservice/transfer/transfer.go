// Package transfer copies files and directories between this machine and a server of package fileservice: [Pull] fetches
// them, [Push] sends them. A transfer that was interrupted continues where it stopped.
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

// ErrPartial says that some files of a transfer have failed, and the others are there. The fault of the first one is in
// the chain.
var ErrPartial = errors.New("fileservice: not all files were transferred")

// Config says what [Pull] and [Push] do.
type Config struct {
	// Remote is a path on the server, Local one in Root. They name the file or the directory itself, not what it is to
	// lie in: to pull "logs" to "logs", both are "logs". "." is all of the tree. Local has the slashes of io/fs.
	Remote string
	Root   *os.Root
	Local  string

	// Include and Exclude are patterns of path.Match. One without a slash is compared with the name of a file, another
	// with its path below Remote or Local. A directory that matches stands for all that is in it. If there are patterns
	// to include, only what matches one is transferred; what matches one to exclude is not, whatever else it matches.
	Include, Exclude []string

	// Withhold is asked by Push for each regular file of a directory, and may be nil. What it gives an error for is
	// skipped, with that error: one's own key, for example, as os.SameFile knows it. It is called by several
	// goroutines at once.
	Withhold func(fs.FileInfo) error

	// Overwrite replaces files that are there and differ in size or time. Without it they fail with fs.ErrExist. Files
	// of the same size and time count as present, and are left alone. Times are compared in nanoseconds, or in
	// the steps in which the file system of the copy keeps them, such as the 2 s of FAT.
	Overwrite bool

	// DryRun finds out what there is to do, tells it by Notify, and does nothing.
	DryRun bool

	// Retry is asked after each failure to reach the other end (ErrUnreachable), and says whether to try again, after a
	// wait that grows from a tenth of a second to half a minute. Nil gives up at once. It is called by several
	// goroutines, one at a time. It is not called for errors that end a transfer in any case, such as a full disk.
	Retry func(error) bool

	// Progress counts what is done, for others to look at. It may be nil.
	Progress *Progress

	// Notify hears of files and of faults as they come, one call at a time. It may be nil. The transfer waits for it.
	Notify func(Event)

	walkRoom int64 // of a walk, for tests; 0 is maxWalk
}

// An EventKind says what an Event is about.
type EventKind int

// The kinds of events.
const (
	FileDone    EventKind = iota // all of it is there, verified and durable; Bytes of them came from an earlier run
	FilePresent                  // it was there already, with its size and time
	FilePlanned                  // a dry run would have transferred it
	FileSkipped                  // it is not transferred; Err says why: a link, a device, a part of a transfer
	FileFailed                   // Err says why
	FileChanged                  // it has changed at the source, and is begun afresh
	Waiting                      // the other end is not reachable, for which Err says why; it is tried again after Wait
)

// An Event is what [Config.Notify] hears.
type Event struct {
	Kind EventKind

	// Name is the path below Remote or Local, or the last element of that if it is the file itself.
	Name string

	// Size of the file, and how much of it an earlier run had transferred.
	Size, Resumed int64

	Err  error
	Wait time.Duration
}

// A Fault is a file that failed.
type Fault struct {
	Name string
	Err  error
}

// A Result says what a transfer has done.
type Result struct {
	// Files were transferred: each block was compared with its hash, the whole with the hash of the file, and all of
	// it is on the disk. In a dry run they would have been.
	Files int64

	// Present were there already, Skipped are not transferred by us, Failed have a fault.
	Present, Skipped, Failed int64

	// Bytes were transferred; Resumed are those that an earlier run had, of files that are complete now. In a dry run
	// Bytes would have been transferred, or resumed.
	Bytes, Resumed int64

	// Root is the hash of a single file that was transferred, as b3sum prints it, and else zero.
	Root fileservice.Sum

	Duration time.Duration

	// Faults are the first hundred.
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

// excludes reports whether patterns leave out a file or directory, and all that is in it.
func (c *Config) excludes(name string) bool { return matchesAny(c.Exclude, name) }

// includes reports whether patterns take a file. It may be in a directory that matches.
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
