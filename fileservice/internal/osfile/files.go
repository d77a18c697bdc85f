// Package osfile has the operations on files of this machine that several packages of the file service need.
package osfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"culvert/fileservice"
	"culvert/internal/publish"
)

var ErrExchanged = errors.New("fileservice: somebody has exchanged the unfinished file")

// CheckName fails if a name is not that of an open file any more.
func CheckName(dir *os.Root, name string, file interface{ Stat() (fs.FileInfo, error) }) error {
	opened, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return &fs.PathError{Op: "write", Path: name, Err: ErrExchanged}
	}
	return nil
}

// ReadFull reads what has to be there.
func ReadFull(source io.ReaderAt, p []byte, offset int64) error {
	n, err := source.ReadAt(p, offset)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF:
		return fmt.Errorf("%w: it has become shorter", fileservice.ErrChanged)
	case err == nil:
		return errors.New("fileservice: a ReaderAt has given less than it was asked for, without an error")
	}
	return err
}

// ReadSmall fills p with a version of a file, which is as long.
func ReadSmall(dir *publish.Dir, name string, version fileservice.Version, p []byte) error {
	if fileservice.IsDraft(name) {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	// To open a pipe would wake whoever waits for its other end.
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fileservice.NotRegular(info.Mode())
	}
	file, err := dir.Open(name)
	if err != nil {
		return err
	}
	info, err = file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fileservice.NotRegular(info.Mode())
	case fileservice.VersionOf(info) != version:
		err = fileservice.ErrChanged
	default:
		if err = ReadFull(file, p, 0); err == nil {
			info, err = file.Stat()
		}
		if err == nil && fileservice.VersionOf(info) != version {
			err = fileservice.ErrChanged
		}
	}
	return errors.Join(err, file.Close())
}

// DirPermissions are those that a directory is made with: files have to go into it.
func DirPermissions(mode fs.FileMode) fs.FileMode { return mode.Perm() | 0o700 }
