package fusefs

import (
	"fmt"
	"io"
	"io/fs"
	"time"
)

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
// except that WriteAt is called once at a time. Close discards a draft that was not published; of a file in place, only
// writes after the last Flush or Sync may be lost.
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

// LostError is the error of [Mounted.Wait] and [Mounted.Unmount] if the mount ended before programs had closed all
// files that they had written to. Unsynced writes to these files may be lost.
type LostError struct{ Files int }

func (e *LostError) Error() string {
	return fmt.Sprintf("fusefs: files that programs had not closed, with writes that may be lost: %d", e.Files)
}

// renameNewFS can rename without replacing.
type renameNewFS interface {
	// RenameNew fails with fs.ErrExist if newName exists.
	RenameNew(oldName, newName string) error
}

// syncDirFS can make names durable.
type syncDirFS interface {
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
}
