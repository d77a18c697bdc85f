//go:build unix

package durable

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir makes a rename in a directory durable.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return syncAndClose(dir)
}

// SyncDirIn is [SyncDir] for a directory in a root.
func SyncDirIn(root *os.Root, path string) error {
	dir, err := root.Open(path)
	if err != nil {
		return err
	}
	return syncAndClose(dir)
}

func syncAndClose(dir *os.File) error { return errors.Join(SyncOpenDir(dir), dir.Close()) }

// SyncOpenDir is [SyncDir] for a directory that is open.
func SyncOpenDir(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // some file systems have no such thing, and need none
	}
	return err
}
