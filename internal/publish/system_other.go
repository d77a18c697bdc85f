//go:build !linux

package publish

import (
	"errors"
	"io"
	"os"
)

// descriptor is an open file.
type descriptor interface{ Sync() error }

func renameNew(*os.Root, string, string) error { return errors.ErrUnsupported }

// datasync uses the sync of the standard library, which on macOS also empties the cache of the drive.
func datasync(f descriptor) error { return f.Sync() }

// allocate cannot reserve: a full disk shows when the space is written.
func allocate(descriptor, int64, int64) error { return errors.ErrUnsupported }

// writeback leaves it to the system.
func writeback(descriptor, int64, int64) error { return nil }

func beginWriteback(*os.File, int64, int64) {}

func forget(descriptor, int64, int64) {}

func writebackError(f descriptor) error { return datasync(f) }

// directFlag is 0: the system has no such flag.
const directFlag = 0

// canShare means that a whole file system can be synced at once, and returns the errors of that.
const canShare = false

func syncsTogether(*os.File) bool { return false }

func syncFileSystem(*os.File) error { return errors.ErrUnsupported }

func sameFileSystem(descriptor, descriptor) bool { return false }

// NextData returns all of a file from an offset on. It moves the file's offset.
func NextData(f *os.File, offset int64) (start, end int64, err error) {
	end, err = f.Seek(0, io.SeekEnd)
	return offset, max(offset, end), err
}
