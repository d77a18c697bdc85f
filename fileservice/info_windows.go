package fileservice

import (
	"io/fs"
	"syscall"
	"time"
)

// changedOf returns when the file was made, which is kept in smaller steps than when it was changed.
func changedOf(info fs.FileInfo) time.Time {
	data, is := info.Sys().(*syscall.Win32FileAttributeData)
	if !is {
		return time.Time{}
	}
	return time.Unix(0, data.CreationTime.Nanoseconds())
}
