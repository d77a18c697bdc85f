//go:build !unix

package fileservice

import "io/fs"

// FileSystemOf returns what identifies the file system of a directory, as Attributes.FileSystem does. The info is an
// [Info], or a fresh result of package os.
func FileSystemOf(info fs.FileInfo) uint64 {
	if there, is := info.(*Info); is {
		return there.attributes.FileSystem
	}
	return 0
}
