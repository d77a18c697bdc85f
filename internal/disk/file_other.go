//go:build !linux

package disk

import (
	"errors"
	"os"
)

// opened is an open file.
type opened interface{ Sync() error }

// datasync is that of the standard library, which on macOS asks the drive to empty its cache, too.
func datasync(f opened) error { return f.Sync() }

// reserve only sets the size: a full disk shows when the space is written.
func reserve(f *os.File, size int64) error { return f.Truncate(size) }

func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

// writeback leaves it to the system.
func writeback(*os.File, int64, int64) error { return nil }

// directFlag is 0 because the system has no such flag.
const directFlag = 0

// canShare says that a whole file system can be synced at once, with the errors of that.
const canShare = false

func syncsTogether(*os.File) bool { return false }

func syncFileSystem(*os.File) error { return errors.ErrUnsupported }

func writebackError(f opened) error { return datasync(f) }

func sameFileSystem(opened, opened) bool { return false }
