//go:build !linux

package osfile

import "io/fs"

// Umask gives the permissions that new files do not get. It can be asked only by changing it.
func Umask() fs.FileMode { return 0o022 }
