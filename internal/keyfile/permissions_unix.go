//go:build unix

package keyfile

import "os"

// OthersCanRead reports whether a regular file can be read by more than its owner.
func OthersCanRead(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0
}
