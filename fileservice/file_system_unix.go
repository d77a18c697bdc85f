//go:build unix

package fileservice

import (
	"io/fs"
	"syscall"
)

// FileSystemOf returns what identifies the file system of a directory, as Attributes.FileSystem does. The info is an
// [Info], or a fresh result of package os.
func FileSystemOf(info fs.FileInfo) uint64 {
	if there, is := info.(*Info); is {
		return there.attributes.FileSystem
	}
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is || !info.IsDir() {
		return 0
	}
	return hashOf(uint64(stat.Dev)) //nolint:unconvert // it is an int32 on macOS
}
