//go:build !linux

package fileservice

import "io/fs"

// umask gives the permissions that new files do not get. It can be asked only by changing it.
func umask() fs.FileMode { return 0o022 }
