package fileservice

import (
	"fmt"
	"io/fs"
)

// What a call for small files carries: ReadFiles and WriteFiles.
const (
	SmallFileSize = 64 << 10 // bytes of one
	MaxSmallFiles = 64       // files of one call; whoever receives them has as many descriptors open
)

// A SmallFile is a version of a file of at most SmallFileSize in a directory that is named elsewhere.
type SmallFile struct {
	Name        string // an element of a path
	Version     Version
	Permissions fs.FileMode // for WriteFiles; 0 is for the owner of the server's process alone
}

// Check finds what a peer may not name.
func (f *SmallFile) Check() error {
	switch size := f.Version.Size; {
	case !IsName(f.Name):
		return fmt.Errorf("%w: not the name of a file", fs.ErrInvalid)
	case size < 0 || size > SmallFileSize:
		return fmt.Errorf("%w: a small file of %d bytes", fs.ErrInvalid, size)
	}
	return nil
}

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

// SumFile gives the hash of a file of at most one block.
func SumFile(content []byte) Sum { return SumBlock(content, 0, int64(len(content))) }
