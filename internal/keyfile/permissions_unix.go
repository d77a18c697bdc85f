//go:build unix

package keyfile

import (
	"os"
	"path/filepath"
)

// OthersCanRead reports whether others than its owner can read a regular file. It returns false for credentials of
// systemd: they may belong to root, with an ACL entry for the user of the unit that looks like permissions of a group.
func OthersCanRead(f *os.File) bool {
	if credentials := os.Getenv("CREDENTIALS_DIRECTORY"); credentials != "" {
		if filepath.Dir(f.Name()) == filepath.Clean(credentials) {
			return false
		}
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0
}
