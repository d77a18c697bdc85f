package fusefs

import (
	"fmt"
	"io"
	"io/fs"
	"time"
)

// WritableFS is a file system that a mount with Config.ReadWrite writes to. All its methods may be called at once.
// Their errors mean what those of package os with the same names mean.
type WritableFS interface {
	fs.FS

	// OpenFile begins to write a file, as a [WritableFile]. The flags are os.O_RDWR with one of these:
	// os.O_CREATE|os.O_EXCL, for a name that is not there; os.O_TRUNC, for new content of a file that is there; or
	// neither, for a file that exists. In the first two cases the file is a draft, which others do not see until it is
	// published. In the last case it is written in place: others see what is written to it.
	OpenFile(name string, flag int, perm fs.FileMode) (fs.File, error)

	Mkdir(name string, perm fs.FileMode) error

	// Remove removes a file or an empty directory.
	Remove(name string) error

	// Rename replaces a file, or an empty directory by a directory.
	Rename(oldName, newName string) error

	Chmod(name string, mode fs.FileMode) error

	// Chtimes leaves a time as it is for which it is given the zero time.
	Chtimes(name string, atime, mtime time.Time) error
}

// WritableFile is a file that is being written: a draft, or a file in place. Its methods may be called concurrently.
// Close discards a draft that was not published; of a file in place, only writes after the last Flush or Sync may be
// lost.
//
// Calls for a file in place fail when others have changed it, with an error that wraps syscall.ESTALE.
type WritableFile interface {
	fs.File
	io.ReaderAt
	io.WriterAt

	// Truncate changes the size. What it adds is zero.
	Truncate(size int64) error

	// Flush returns when the file system has what was written. Stat describes a file in place as it is then.
	Flush() error

	// Sync is Flush, and returns when the content survives a loss of power; for a file in place, the name too. If it
	// was called for a draft, Publish returns when the name survives a loss of power.
	Sync() error

	Chmod(mode fs.FileMode) error
	Chtimes(atime, mtime time.Time) error

	// Publish gives a draft a name, at once and as a whole; it need not be the one of OpenFile. It fails with
	// fs.ErrExist if replace is false and there is something of that name. Afterwards the file is in place.
	Publish(name string, replace bool) error
}

// LostError is the error of [Mounted.Wait] and [Mounted.Unmount] if the mount ended before programs had closed all that
// they had written to. What they wrote to these files and did not sync is lost, or a part of it.
type LostError struct{ Files int }

func (e *LostError) Error() string {
	return fmt.Sprintf("fusefs: files with writes that may be lost, as programs had not closed them: %d", e.Files)
}

// renameNewFS can rename without replacing.
type renameNewFS interface {
	// RenameNew fails with fs.ErrExist if there is something of the new name.
	RenameNew(oldName, newName string) error
}

// syncDirFS can make names durable.
type syncDirFS interface {
	// SyncDir returns when the names in a directory survive a loss of power.
	SyncDir(name string) error
}
