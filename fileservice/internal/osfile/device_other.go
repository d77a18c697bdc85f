//go:build !unix

package osfile

import "io/fs"

// Device returns the number of the file system of a file, if the system tells it.
func Device(fs.FileInfo) (id uint64, known bool) { return 0, false }
