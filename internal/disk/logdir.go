package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// rootDir is a [LogDir].
type rootDir struct {
	InRoot
	self *os.File // the directory, for what needs a descriptor; nil where directories cannot be opened as files
}

// isDir says of anything but a directory that it is none, before it is opened: to open a pipe can take forever.
func isDir(path string, info os.FileInfo, err error) error {
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	return err
}

// newLogDir takes the result of opening a root, which it closes if there is an error.
func newLogDir(root *os.Root, err error) (LogDir, error) {
	if err != nil {
		return nil, err
	}
	self, err := openSelf(root)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &rootDir{InRoot{root}, self}, nil
}

// List implements [LogDir].
func (d *rootDir) List() ([]string, error) {
	names, err := d.InRoot.List(".")
	return names, d.located(err)
}

// Create implements [LogDir].
func (d *rootDir) Create(name string) (File, error) {
	f, err := d.InRoot.Create(name)
	return f, d.located(err)
}

// Open implements [LogDir].
func (d *rootDir) Open(name string, writable bool) (File, error) {
	f, err := d.InRoot.Open(name, writable)
	return f, d.located(err)
}

// Remove implements [LogDir].
func (d *rootDir) Remove(name string) error { return d.located(d.Root.Remove(name)) }

// Lock implements [LogDir].
func (d *rootDir) Lock(name string) (Lock, error) {
	for {
		f, err := d.openToLock(name)
		if err != nil {
			return nil, d.located(err)
		}
		// Whoever had the lock may have removed the file before it was taken over.
		named, err := d.isNamed(f, name)
		if err == nil && named {
			var l Lock
			if l, err = newLock(d, f, name); err == nil {
				return l, nil
			}
		}
		if err := errors.Join(d.located(err), unlockFile(f), f.Close()); err != nil {
			return nil, err
		}
	}
}

// Close implements [LogDir].
func (d *rootDir) Close() error {
	err := d.Root.Close()
	if d.self != nil {
		err = errors.Join(err, d.self.Close())
	}
	return err
}

// located puts the path of the directory before the name in an error.
func (d *rootDir) located(err error) error {
	var e *os.PathError
	if errors.As(err, &e) && filepath.Base(e.Path) == e.Path {
		located := *e
		located.Path = filepath.Join(d.Root.Name(), e.Path)
		return &located
	}
	return err
}
