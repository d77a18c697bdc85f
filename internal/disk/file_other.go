//go:build !linux

package disk

import (
	"errors"
	"os"
)

// datasync is that of the standard library, which on macOS asks the drive to empty its cache, too.
func datasync(f *os.File) error { return f.Sync() }

// reserve only sets the size: a full disk shows when the space is written.
func reserve(f *os.File, size int64) error { return f.Truncate(size) }

// writeback leaves it to the system.
func writeback(*os.File, int64, int64) error { return nil }

// canShare says that a whole file system can be synced at once, with the errors of that.
const canShare = false

func syncFileSystem(*os.File) error { return errors.ErrUnsupported }

func writebackError(f *os.File) error { return datasync(f) }

func sameFileSystem(*os.File, *os.File) bool { return false }
