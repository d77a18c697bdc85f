package cli

import (
	"errors"
	"os"
)

// renameByLink gives a file a second name, which never replaces another file, and removes the first.
func renameByLink(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if errors.Is(err, os.ErrExist) {
		return err
	}
	// The file system has no links. What is left is to look first; a file that appears in between is lost.
	_, err = os.Lstat(to)
	switch {
	case err == nil:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: os.ErrExist}
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	return os.Rename(from, to)
}
