//go:build unix

package osfile

import (
	"io/fs"
	"syscall"
)

// Device returns the number of the file system of a file, if the system tells it.
func Device(info fs.FileInfo) (id uint64, known bool) {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return 0, false
	}
	return uint64(stat.Dev), true //nolint:unconvert // it is an int32 on macOS
}
