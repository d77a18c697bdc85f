// Package durable gives files their names once they are complete.
//
// A file is written under another name in the directory where it is to be, and then
//
//	fsync of the file ──▶ rename ──▶ fsync of the directory
//
// so that after a crash there is the whole file under its name, or none. [RenameNew] is the rename that never replaces
// a file, on every system; [SyncDir] is the last step, without which the name may be lost.
package durable

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// PartName is the name of a file while it is written: in the same directory, with a random part, so that two programs
// that write the same file do not touch each other's. It is never longer than file systems allow because of what is
// added to it.
func PartName(path string) string {
	const longest = 200
	dir, base := filepath.Split(path)
	base = strings.ToValidUTF8(base[:min(len(base), longest)], "")
	return dir + base + "." + strings.ToLower(rand.Text()[:8]) + ".part"
}

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
