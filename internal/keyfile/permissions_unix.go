//go:build unix

package keyfile

import (
	"os"
	"path/filepath"
)

// OthersCanRead reports whether a regular file can be read by more than its owner. A credential of systemd cannot: it
// may belong to root, with an entry for the user of the unit, which looks like permissions of a group.
func OthersCanRead(f *os.File) bool {
	if credentials := os.Getenv("CREDENTIALS_DIRECTORY"); credentials != "" {
		if filepath.Dir(f.Name()) == filepath.Clean(credentials) {
			return false
		}
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0
}
