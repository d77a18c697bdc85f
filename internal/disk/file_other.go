//go:build !linux

package disk

import "os"

// datasync is that of the standard library, which on macOS asks the drive to empty its cache, too.
func datasync(f *os.File) error { return f.Sync() }

// reserve only sets the size: a full disk shows when the space is written.
func reserve(f *os.File, size int64) error { return f.Truncate(size) }

// writeback leaves it to the system.
func writeback(*os.File, int64, int64) error { return nil }
