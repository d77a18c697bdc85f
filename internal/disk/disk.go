// Package disk is the seam between a log and the disk: the few operations on files that durability is made of, as
// interfaces, and their implementation by the operating system.
//
// What is written is certain to be there after a crash only once it was synced, and there are two kinds of that:
//
//	File.Sync                 the content and the size of a file
//	LogDir.Sync, FS.SyncDir   the names in a directory: files that were created, renamed or removed
//
// A log holds its directory open as a [LogDir], so that it stays in it wherever that is moved.
//
// Tests put file systems in this place that crash, fill up, or fail to sync; what they do to those who forget one of
// the two is in the package internal/testkit/crashfs.
package disk

import (
	"errors"
	"io"
	"os"

	"culvert/internal/durable"
)

var (
	// ErrLocked is the error of [LogDir.Lock] when somebody else holds the lock.
	ErrLocked = errors.New("disk: locked by another process")

	// ErrNotFile is the error of [LogDir.Open] for what is no regular file: a directory, a device, or a pipe, of which
	// the opening would wait for a writer.
	ErrNotFile = errors.New("disk: not a regular file")

	errNotHeld = errors.New("disk: the file of the lock was removed or renamed")
)

// FS is a file system. Its methods may be called by several goroutines at once.
type FS interface {
	// Mkdir makes a directory; one that exists is fine. Its name is durable once the parent directory is synced.
	Mkdir(dir string) error

	// OpenLogDir opens a directory.
	OpenLogDir(dir string) (LogDir, error)

	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
}

// LogDir is a directory that is open: it remains the same one when it is renamed, and when another gets its name. Names
// are those of files in it. Its methods may be called by several goroutines at once, except Close.
type LogDir interface {
	io.Closer

	// List returns the names in the directory, in any order.
	List() ([]string, error)

	// Create makes a new file to read and write, in place of one that may have the name. What a link of that name
	// points to stays as it is.
	Create(name string) (File, error)

	// Open opens a file, to read only unless writable. Links that lead out of the directory are errors.
	Open(name string, writable bool) (File, error)

	// Rename gives a file another name. It fails if there is a file of that name.
	Rename(from, to string) error

	Remove(name string) error

	// Sync makes the names in the directory durable.
	Sync() error

	// Lock takes the lock that a file stands for, creating the file if need be, or fails with [ErrLocked].
	Lock(name string) (Lock, error)
}

// Lock is one that was taken. Closing gives it back, as does the end of the process. Its methods must not be called at
// the same time.
type Lock interface {
	io.Closer

	// Held fails if the file has lost its name in the directory, so that somebody else may have the lock as well. It is
	// one system call: a file that is renamed gets a new time of change, and its name is looked up only then. Where an
	// open file cannot be removed or renamed, Held never fails.
	Held() error
}

// File is an open file. Reading may go on at the same time as anything else.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer

	// Sync makes content and size durable, and what else of the metadata is needed to read them (fdatasync(2)).
	Sync() error

	// Writeback asks the system to begin to write a part of the file to the disk, so that a later Sync has less to wait
	// for. It makes nothing durable.
	Writeback(offset, n int64) error

	// Truncate changes the size.
	Truncate(size int64) error

	// Reserve allocates the space for a file of that size and makes it so large; what is new reads as zeros. It fails
	// when the disk is full; where the file system cannot reserve, it only sets the size.
	Reserve(size int64) error

	Size() (int64, error)
}

// OS is the file system of the operating system.
type OS struct{}

// Mkdir implements [FS].
func (OS) Mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o700); !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// OpenLogDir implements [FS]. On Unix a lock is of the open file (flock(2)), so that it also keeps out another log of
// this process.
func (OS) OpenLogDir(dir string) (LogDir, error) {
	info, err := os.Stat(dir)
	if err := isDir(dir, info, err); err != nil {
		return nil, err
	}
	return newLogDir(os.OpenRoot(dir))
}

// SyncDir implements [FS].
func (OS) SyncDir(dir string) error { return durable.SyncDir(dir) }

// osFile is a file of the operating system.
type osFile struct{ *os.File }

func (f osFile) Sync() error { return datasync(f.File) }

func (f osFile) Writeback(offset, n int64) error { return writeback(f.File, offset, n) }

func (f osFile) Reserve(size int64) error { return reserve(f.File, size) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
