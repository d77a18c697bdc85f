package receive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/internal/publish"
)

// A directory that is received under a new name has a file that says where it comes from, until all of it has arrived.
// The file is in the directory, so that it moves and vanishes with it. No transfer copies a file of this name, and no
// unfinished file has it: they are named after files.
const (
	originName   = fileservice.JournalSuffix
	originFormat = "culvert origin 1\n"
)

// MakeDir makes a directory that has an origin from its first moment. It fails with fs.ErrExist if the name is taken.
// The caller syncs the directory that it is in.
func MakeDir(root *os.Root, local string, permissions fs.FileMode, origin string) error {
	if _, err := root.Lstat(local); err == nil {
		return &fs.PathError{Op: "mkdir", Path: local, Err: fs.ErrExist}
	}
	names, err := UnfinishedNames(local)
	if err != nil {
		return err
	}
	err = root.Mkdir(names.part, osfile.DirPermissions(permissions))
	if errors.Is(err, fs.ErrExist) {
		info, err := root.Lstat(names.part)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%w: it is not a directory", fs.ErrExist)
			return &fs.PathError{Op: "mkdir", Path: names.part, Err: err}
		}
	} else if err != nil {
		return err
	}
	if err := writeOrigin(root, filepath.Join(names.part, originName), origin); err != nil {
		return err
	}
	if err := publish.SyncDir(root, names.part); err != nil {
		return err
	}
	return publish.Rename(root, names.part, local)
}

func writeOrigin(root *os.Root, name, origin string) error {
	file, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = file.WriteString(originFormat + origin + "\n")
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// IsFrom reports whether a directory has this origin, and so is not complete.
func IsFrom(root *os.Root, local, origin string) (is bool, err error) {
	name := filepath.Join(local, originName)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, nil
	}
	file, err := root.OpenFile(name, os.O_RDONLY|osfile.NoWait, 0)
	if err != nil {
		return false, err
	}
	want := originFormat + origin + "\n"
	content, err := io.ReadAll(io.LimitReader(file, int64(len(want))+1))
	return string(content) == want, errors.Join(err, file.Close())
}

// CompleteDir removes the origin of a directory of which everything has arrived. It keeps the time of the directory.
func CompleteDir(root *os.Root, local, origin string) error {
	is, err := IsFrom(root, local, origin)
	if err != nil || !is {
		return err
	}
	info, err := root.Lstat(local)
	if err != nil {
		return err
	}
	if err := root.Remove(filepath.Join(local, originName)); err != nil {
		return err
	}
	return root.Chtimes(local, time.Time{}, info.ModTime())
}
