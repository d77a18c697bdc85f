package fileservice

import (
	"io/fs"
	"syscall"
	"time"
)

// identify returns no inode number, and the creation time, which has a finer resolution than the modification time.
func identify(info fs.FileInfo) (inode uint64, changed time.Time) {
	data, is := info.Sys().(*syscall.Win32FileAttributeData)
	if !is {
		return 0, time.Time{}
	}
	return 0, time.Unix(0, data.CreationTime.Nanoseconds())
}
