package fileservice

import (
	"fmt"
	"io/fs"
)

// Limits of ReadFiles and WriteFiles.
const (
	SmallFileSize = 64 << 10 // in bytes
	MaxSmallFiles = 64       // in one call; the receiver opens a descriptor for each
)

// A SmallFile names a version of a file of at most SmallFileSize bytes in a directory that is named elsewhere.
type SmallFile struct {
	Name        string // an element of a path
	Version     Version
	Permissions fs.FileMode // for WriteFiles; 0 means read and write for the owner only
}

// Check fails if the name or the size is not valid.
func (f *SmallFile) Check() error {
	switch size := f.Version.Size; {
	case !IsName(f.Name):
		return fmt.Errorf("%w: not the name of a file", fs.ErrInvalid)
	case size < 0 || size > SmallFileSize:
		return fmt.Errorf("%w: a small file of %d bytes", fs.ErrInvalid, size)
	}
	return nil
}

// CheckSmallFiles checks the number of files and each of them.
func CheckSmallFiles(files []SmallFile) error {
	if len(files) > MaxSmallFiles {
		return fmt.Errorf("%w: %d files in one call", fs.ErrInvalid, len(files))
	}
	for i := range files {
		if err := files[i].Check(); err != nil {
			return err
		}
	}
	return nil
}
