//go:build unix

package fill

import "golang.org/x/sys/unix"

// permitted returns an error if this process may not make files in a directory.
func permitted(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}
