package fileservice

import (
	"fmt"
	"io/fs"
)

// The limits of the calls for small files, ReadFiles and WriteFiles.
const (
	SmallFileSize = 64 << 10 // bytes of a file
	MaxSmallFiles = 64       // files of a call; the receiver has a descriptor open for each
)

// A SmallFile is a version of a file of at most SmallFileSize bytes. The call names its directory.
type SmallFile struct {
	Name        string // an element of a path
	Version     Version
	Permissions fs.FileMode // for WriteFiles; 0 means 0600
}

// Check returns an error if the name or the size is not valid.
func (f *SmallFile) Check() error {
	switch size := f.Version.Size; {
	case !IsName(f.Name):
		return fmt.Errorf("%w: not the name of a file", fs.ErrInvalid)
	case size < 0 || size > SmallFileSize:
		return fmt.Errorf("%w: a small file of %d bytes", fs.ErrInvalid, size)
	}
	return nil
}

// CheckSmallFiles returns an error if there are too many files for a call, or one is not valid.
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

// SumFile returns the hash of a file of at most one block.
func SumFile(content []byte) Sum { return SumBlock(content, 0, int64(len(content))) }
