// Package osfile has operations on local files that several packages of the file service share.
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

// ErrExchanged means that the name of an unfinished file leads to another file.
var ErrExchanged = errors.New("fileservice: another program has replaced the unfinished file")

// CheckName fails if name is no longer the name of the open file.
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

// ReadFull reads len(p) bytes. If the file is too short, the error is fileservice.ErrChanged.
func ReadFull(source io.ReaderAt, p []byte, offset int64) error {
	n, err := source.ReadAt(p, offset)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF:
		return fmt.Errorf("%w: it has become shorter", fileservice.ErrChanged)
	case err == nil:
		return errors.New("fileservice: ReadAt returned too few bytes without an error")
	}
	return err
}

// ReadSmall reads a version of a file into p, which has the length of the file.
func ReadSmall(dir *publish.Dir, name string, version fileservice.Version, p []byte) error {
	if fileservice.IsDraft(name) {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	// Opening a pipe would wake a process that waits for its other end.
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

// DirPermissions returns the permissions of a new directory. The owner gets all of them, to create files in it.
func DirPermissions(mode fs.FileMode) fs.FileMode { return mode.Perm() | 0o700 }
