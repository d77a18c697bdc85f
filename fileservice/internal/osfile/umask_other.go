//go:build !linux

package osfile

import "io/fs"

// Umask returns the usual mask. The system reveals the actual one only when it is changed.
func Umask() fs.FileMode { return 0o022 }
