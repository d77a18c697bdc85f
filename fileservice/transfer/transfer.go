// Package transfer copies files and directories between this machine and a [place.Place]: a server of package
// fileservice, by [client.Client.Place], or any other place, such as a bucket. [Pull] fetches them, [Push] sends them.
// An interrupted transfer continues where it stopped.
//
// A place is read and written by the methods that every place has. If it is a [Server], blocks of large files move over
// several connections at once, small files move together, an interrupted push is resumed within a file, too, and
// directories keep their times and permissions.
package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/receive"
	"culvert/fileservice/internal/wire"
)

// ErrPartial is the error of a transfer in which some files failed and others did not. It wraps the error of the first
// one that failed.
var ErrPartial = errors.New("fileservice: not all files were transferred")

// Config configures a transfer.
type Config struct {
	// Remote is a path in the place, and Local one in Root. They name the file or directory itself, not its parent: to
	// pull "logs" to "logs", both are "logs". "." is the whole tree. Local uses slashes, as io/fs does.
	Remote string
	Root   *os.Root
	Local  string

	// Origin, unless it is empty, names the source of a Pull of a directory, by a URL for example. If Pull makes Local,
	// it notes Origin in it until everything has arrived, so that IsUnfinished recognizes it.
	Origin string

	// Include and Exclude are patterns of path.Match. A pattern without a slash is matched against the name of a file,
	// any other against its path below Remote or Local. A directory that matches stands for everything in it. If there
	// are Include patterns, only files that match one are transferred. Exclude takes precedence.
	Include, Exclude []string

	// Push calls Withhold, unless it is nil, for each regular file of a directory. If it returns an error, the file is
	// skipped with that error. It may withhold one's own key, for example, found by os.SameFile. Several goroutines
	// call it at once.
	Withhold func(fs.FileInfo) error

	// Overwrite replaces existing files that differ. Without it, files of the same size and time count as present and
	// are left alone, whatever their bytes, and others fail with fs.ErrExist. With it, files of the same size and time
	// count as present if their sums are equal, for which both ends read them. If the other end knows no sum, such as a
	// server that is older than fileservice.proto's Sum, they are copied again. Times are compared in nanoseconds, or
	// in the resolution of the copy's file system, such as 2 s for FAT. Push to a place that is no Server compares
	// checksums in any case.
	Overwrite bool

	// DryRun reports what would be done by Notify, and changes nothing. With Overwrite, it asks for sums one after the
	// other, unlike the transfer itself.
	DryRun bool

	// Retry is called after each failure to reach the place (ErrUnreachable), one call at a time, and reports whether
	// to try again. Attempts are a tenth of a second to half a minute apart. If Retry is nil, the first failure is
	// final. Retry is not called for errors that always end a transfer, such as a full disk.
	Retry func(error) bool

	// Hash computes the BLAKE3 hash of each file that is transferred, from the copy on this machine. A file of more
	// than fileservice.SmallFileSize bytes is read again for it when the transfer of the file is complete, except by a
	// Push to a place that is no Server. If the source of a Push changes meanwhile, the file is pushed afresh, which
	// fails with fs.ErrExist without Overwrite.
	Hash bool

	// Parallel is how many ranges of large files Pull reads at once, up to 80, and how many large files Push writes at
	// once, up to 8. Defaults: 4 and 3. A Server has connections instead.
	Parallel int

	// Progress, unless it is nil, counts what is done.
	Progress *Progress

	// Notify, unless it is nil, receives events as they happen, one call at a time. The transfer waits for it.
	Notify func(Event)

	walkRoom int64 // for tests; the default is maxWalk
}

// An EventKind is the kind of an [Event].
type EventKind int

// The kinds of events.
const (
	FileDone    EventKind = iota // complete and durable
	FilePresent                  // exists already, as Config.Overwrite says
	FilePlanned                  // would be transferred, without DryRun
	FileSkipped                  // not transferred: Err says that it is a link, a device, part of a transfer, …
	FileFailed                   // failed with Err
	FileChanged                  // changed at the source; the transfer of it starts over
	Waiting                      // the place is unreachable because of Err; the next attempt is after Wait
)

// An Event is an argument of [Config.Notify].
type Event struct {
	Kind EventKind

	// Name is the path below Remote or Local, or the base name if that is the file itself.
	Name string

	// Size is the size of the file, of which an earlier run has transferred Resumed bytes.
	Size, Resumed int64

	// Verified and Hash are for FileDone: Verified as in Result, and Hash if Config.Hash is set.
	Verified bool
	Hash     Hash

	Err  error
	Wait time.Duration
}

// A Fault is a file or directory that failed.
type Fault struct {
	Name string
	Err  error
}

// A Result reports what a transfer has done.
type Result struct {
	// Files is the number of files transferred, which are complete and durable. In a dry run, it is the number that
	// would be transferred.
	Files int64

	// Verified is the number of those files of which both ends have compared checksums: all with a Server, and
	// otherwise those of which the place has, or returns, checksums of the whole content.
	Verified int64

	// Present files existed already. Skipped files are not transferred. Failed files have a fault.
	Present, Skipped, Failed int64

	// Bytes is the number of bytes transferred. Resumed is the number that earlier runs transferred, of files that are
	// complete now. In a dry run, Bytes is the size of all files that would be transferred.
	Bytes, Resumed int64

	// OtherTimes is the number of transferred files and directories whose modification times are before 1677-09-21 or
	// after 2262-04-11. The copies have the nearest of these moments.
	OtherTimes int64

	// Hash is the hash of the file if Config.Hash is set and a single file was transferred; otherwise it is zero.
	Hash Hash

	Duration time.Duration

	// Faults are the first 100 faults.
	Faults []Fault
}

func (c *Config) check() error {
	if c.Root == nil {
		return errors.New("fileservice: Config.Root is required")
	}
	if c.Parallel < 0 {
		return errors.New("fileservice: Config.Parallel is negative")
	}
	for _, name := range []string{c.Remote, c.Local} {
		if _, err := fileservice.CheckPath(name); err != nil {
			return fmt.Errorf("fileservice: path %q: %w", wire.Printable(name), err)
		}
	}
	for _, pattern := range slices.Concat(c.Include, c.Exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("fileservice: pattern %q: %w", pattern, err)
		}
	}
	return nil
}

// IsUnfinished reports whether Local is a directory that a Pull from the same Origin has made and not completed.
func (c *Config) IsUnfinished() (bool, error) {
	if err := c.check(); err != nil || c.Origin == "" {
		return false, err
	}
	return receive.IsFrom(c.Root, c.Local, c.Origin)
}

// excludes reports whether a file, or a directory with everything in it, is left out.
func (c *Config) excludes(name string) bool { return matchesAny(c.Exclude, name) }

// includes reports whether a file, or a directory that it is in, matches Include.
func (c *Config) includes(name string) bool {
	is := len(c.Include) == 0
	for ; !is && name != "."; name = path.Dir(name) {
		is = matchesAny(c.Include, name)
	}
	return is
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		compared := name
		if !strings.Contains(pattern, "/") {
			compared = path.Base(name)
		}
		matched, _ := path.Match(strings.TrimSuffix(pattern, "/"), compared) // check has parsed the pattern
		return matched
	})
}
