//go:build linux || darwin

package doctor

import (
	"math"
	"syscall"
)

// freeSpace returns how many bytes this user can write in the file system of a directory, if the system says so.
func freeSpace(dir string) (int64, bool) {
	var stat syscall.Statfs_t
	for {
		switch err := syscall.Statfs(dir, &stat); err {
		case nil:
			free := float64(stat.Bavail) * float64(stat.Bsize)
			return int64(min(free, math.MaxInt64/2)), true
		case syscall.EINTR:
			continue
		default:
			return 0, false
		}
	}
}
