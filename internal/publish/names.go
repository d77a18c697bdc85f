package publish

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Rename renames a file, or a directory, and fails with [fs.ErrExist] if the new name is taken.
func Rename(root *os.Root, from, to string) error {
	return orByLink(renameNew(root, from, to), root, from, to)
}

// orByLink returns the error of a rename, or takes another way if the system has none.
func orByLink(err error, root *os.Root, from, to string) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return renameByLink(root, from, to)
	}
	return err
}

// renameByLink gives a file a second name, which never replaces another file, and removes the first.
func renameByLink(root *os.Root, from, to string) error {
	err := root.Link(from, to)
	switch {
	case err == nil:
		if err := root.Remove(from); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return err
	}
	// The file system has no links, or this is a directory. A file that appears after this check is lost.
	_, err = root.Lstat(to)
	switch {
	case err == nil:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return root.Rename(from, to)
}

// SyncDir makes the names in a directory durable.
func SyncDir(root *os.Root, name string) error { return syncAndClose(root.Open(name)) }

// SyncPath is [SyncDir] for a directory outside any root.
func SyncPath(path string) error { return syncAndClose(os.Open(filepath.Clean(path))) }

func syncAndClose(dir *os.File, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(SyncOpen(dir), dir.Close())
}

// List returns the names in a directory, in any order.
func List(root *os.Root, name string) ([]string, error) {
	dir, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	return names, errors.Join(err, dir.Close())
}
