package disk

import (
	"errors"
	"os"
)

// tree is where names lead to files: an [os.Root], or system.
type tree interface {
	Mkdir(name string, permissions os.FileMode) error
	OpenFile(name string, flags int, permissions os.FileMode) (*os.File, error)
	Remove(name string) error
	Stat(name string) (os.FileInfo, error)
}

// system is the tree of all files.
type system struct{}

func (system) Mkdir(name string, permissions os.FileMode) error { return os.Mkdir(name, permissions) }

func (system) OpenFile(name string, flags int, permissions os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flags, permissions)
}

func (system) Remove(name string) error { return os.Remove(name) }

func (system) Stat(name string) (os.FileInfo, error) { return os.Stat(name) }

func mkdir(t tree, dir string) error {
	err := t.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

func list(t tree, dir string) ([]string, error) {
	f, err := t.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

func create(t tree, name string) (File, error) {
	if err := t.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return openFile(t, name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

func open(t tree, name string, writable bool) (File, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: name, Err: ErrNotFile}
	}
	if writable {
		return openFile(t, name, os.O_RDWR)
	}
	return openFile(t, name, os.O_RDONLY)
}

func openFile(t tree, name string, flags int) (File, error) {
	f, err := t.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func takeLock(t tree, name string, flags int) (Lock, error) {
	f, err := openToLock(t, name, flags)
	if err != nil {
		return nil, err
	}
	return lock{f}, nil
}

// openToLock opens a file, creating it if need be, and takes the lock that it stands for.
func openToLock(t tree, name string, flags int) (*os.File, error) {
	f, err := t.OpenFile(name, os.O_RDWR|os.O_CREATE|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
