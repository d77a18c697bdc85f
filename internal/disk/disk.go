// Package disk is the seam between a log and the disk: interfaces of the few file operations that durability is made
// of, and their implementation by the operating system.
//
// After a crash, only what was synced is certain to exist, and there are two kinds of sync:
//
//	File.Sync                 the content and the size of a file
//	LogDir.Sync, FS.SyncDir   the names in a directory: files that were created, renamed or removed
//
// A log holds its directory open as a [LogDir], so that it stays in it if the directory is moved.
//
// Tests use file systems that crash, fill up, or fail to sync: see internal/testkit/crashfs.
package disk

import (
	"io"

	"culvert/internal/publish"
)

var (
	// ErrLocked is the error of [LogDir.Lock] if the lock is taken.
	ErrLocked = publish.ErrLocked

	// ErrNotFile is the error of [LogDir.Open] for a directory, a device, or a pipe.
	ErrNotFile = publish.ErrNotFile
)

// FS is a file system. Its methods may be called by several goroutines at once.
type FS interface {
	// Mkdir creates a directory, unless it exists. Its name is durable once the parent directory is synced.
	Mkdir(dir string) error

	// OpenLogDir opens a directory.
	OpenLogDir(dir string) (LogDir, error)

	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
}

// LogDir is an open directory. It remains the same one if it is renamed, or if its name is given to another one. All
// names are those of files in it. Its methods may be called by several goroutines at once, except Close.
type LogDir interface {
	io.Closer

	// List returns the names in the directory, in any order.
	List() ([]string, error)

	// Create creates a file for reading and writing. It replaces a file of that name, or a link but not its target.
	Create(name string) (File, error)

	// Open opens a file for reading, and for writing if writable is set. Links that lead out of the directory are
	// errors.
	Open(name string, writable bool) (File, error)

	// Rename renames a file. It fails if the new name is taken.
	Rename(from, to string) error

	Remove(name string) error

	// Sync makes the names in the directory durable.
	Sync() error

	// Lock takes the lock that a file stands for, creating the file if needed, or fails with [ErrLocked].
	Lock(name string) (Lock, error)
}

// Lock is a lock that was taken. It is released when it is closed and when the process ends. Its methods must not be
// called at the same time.
type Lock interface {
	io.Closer

	// Held fails if the file has lost its name in the directory, so that another process may have the lock as well. It
	// usually takes one system call. On systems that do not rename or remove open files, it never fails.
	Held() error
}

// File is an open file. Reading may run at the same time as anything else.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer

	// Sync makes the content durable, with the metadata that is needed to read it (fdatasync(2)).
	Sync() error

	// Writeback asks the system to begin writing a part of the file to the disk, so that a later Sync waits for less.
	// It makes nothing durable.
	Writeback(offset, n int64) error

	// Truncate changes the size.
	Truncate(size int64) error

	// Reserve allocates space for a file of that size and makes the file so large, with zeros. It fails if the disk is
	// full. On file systems that cannot reserve, it only sets the size.
	Reserve(size int64) error

	Size() (int64, error)
}
