//go:build unix

package fill

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// permitted returns an error if this process may not make files in a directory.
func permitted(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}

// identify returns what all names of a file have in common: a hard link leads to the same one.
func identify(path string) string {
	var info unix.Stat_t
	if unix.Stat(path, &info) != nil {
		return path
	}
	return fmt.Sprintf("%d:%d", info.Dev, info.Ino)
}
