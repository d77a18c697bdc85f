package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"culvert/internal/publish"
)

// OS is the file system of the operating system.
type OS struct{}

// Mkdir implements [FS].
func (OS) Mkdir(dir string) error { return unlessExists(os.Mkdir(dir, 0o700)) }

// OpenLogDir implements [FS].
func (OS) OpenLogDir(dir string) (LogDir, error) { return openLogDir(dir, os.Stat, os.OpenRoot) }

// SyncDir implements [FS].
func (OS) SyncDir(dir string) error { return publish.SyncPath(dir) }

// InRoot is the file system of an [os.Root]. Nothing outside the root is touched, wherever links lead. Names are
// relative to it.
type InRoot struct{ Root *os.Root }

// Mkdir implements [FS].
func (r InRoot) Mkdir(dir string) error { return unlessExists(r.Root.Mkdir(dir, 0o700)) }

// OpenLogDir implements [FS]. The root may be closed before the directory.
func (r InRoot) OpenLogDir(dir string) (LogDir, error) {
	return openLogDir(dir, r.Root.Stat, r.Root.OpenRoot)
}

// SyncDir implements [FS].
func (r InRoot) SyncDir(dir string) error { return publish.SyncDir(r.Root, dir) }

func unlessExists(err error) error {
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// logDir is a [LogDir].
type logDir struct {
	root *os.Root
	self *os.File // the same directory: a sync must not fail for want of a descriptor
}

func openLogDir(
	path string, stat func(string) (os.FileInfo, error), open func(string) (*os.Root, error),
) (LogDir, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() { // opening a pipe could take forever
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	root, err := open(path)
	if err != nil {
		return nil, err
	}
	self, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &logDir{root, self}, nil
}

// List implements [LogDir].
func (d *logDir) List() ([]string, error) {
	names, err := publish.List(d.root, ".")
	return names, d.located(err)
}

// Create implements [LogDir].
func (d *logDir) Create(name string) (File, error) {
	if err := d.root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, d.located(err)
	}
	return d.openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// Open implements [LogDir].
func (d *logDir) Open(name string, writable bool) (File, error) {
	info, err := d.root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: name, Err: ErrNotFile}
	}
	if err != nil {
		return nil, d.located(err)
	}
	if writable {
		return d.openFile(name, os.O_RDWR)
	}
	return d.openFile(name, os.O_RDONLY)
}

func (d *logDir) openFile(name string, flags int) (File, error) {
	f, err := d.root.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, d.located(err)
	}
	return publish.NewFile(f), nil
}

// Rename implements [LogDir].
func (d *logDir) Rename(from, to string) error { return publish.Rename(d.root, from, to) }

// Remove implements [LogDir].
func (d *logDir) Remove(name string) error { return d.located(d.root.Remove(name)) }

// Sync implements [LogDir].
func (d *logDir) Sync() error { return publish.SyncOpen(d.self) }

// Lock implements [LogDir]. On Unix the lock belongs to the open file (flock(2)), so that it also excludes another log
// of this process.
func (d *logDir) Lock(name string) (Lock, error) {
	l, err := publish.NewLock(d.root, name)
	if err != nil {
		return nil, d.located(err)
	}
	return l, nil
}

// Close implements [LogDir].
func (d *logDir) Close() error { return errors.Join(d.self.Close(), d.root.Close()) }

// located puts the path of the directory before the name in an error.
func (d *logDir) located(err error) error {
	var e *os.PathError
	if errors.As(err, &e) && filepath.Base(e.Path) == e.Path {
		located := *e
		located.Path = filepath.Join(d.root.Name(), e.Path)
		return &located
	}
	return err
}
