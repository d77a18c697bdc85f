//go:build linux || darwin

package fileservice

import (
	"io/fs"
	"syscall"
	"time"
)

// identify returns the inode number of a file and the time of the inode's last change, or zero values if unknown.
func identify(info fs.FileInfo) (inode uint64, changed time.Time) {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return 0, time.Time{}
	}
	return stat.Ino, time.Unix(0, changedUnixNano(stat))
}
