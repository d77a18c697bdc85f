//go:build !linux

package publish

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"time"
)

type dir struct{ root *os.Root }

func newDir(root *os.Root) (dir, error) { return dir{root}, nil }

func (d dir) stat() (fs.FileInfo, error) { return d.root.Stat(".") }

func (d dir) readNames(n int) ([]string, error) {
	opened, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := opened.Readdirnames(n)
	return names, cmp.Or(opened.Close(), err)
}

func (d dir) lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

func (d dir) sync() error { return SyncDir(d.root, ".") }

func (d dir) close() error { return d.root.Close() }

func (d dir) open(name string) (*DirFile, error) {
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	file, err := d.root.OpenFile(name, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, err
	}
	after, err := file.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNotFile}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &DirFile{file}, nil
}

func (d dir) create(name string, permissions fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, permissions)
}

func (d dir) rename(string, string) error { return errors.ErrUnsupported }

func (d dir) createUnnamed(fs.FileMode) (*DirFile, error) { return nil, errors.ErrUnsupported }

func isUnsupported(error) bool { return false }

func (d dir) link(*DirFile, string) error { return errors.ErrUnsupported }

// DirFile is a file of a [Dir].
type DirFile struct{ *os.File }

// SetModified fails with [errors.ErrUnsupported].
func (f *DirFile) SetModified(time.Time) error { return errors.ErrUnsupported }

func (f *DirFile) syncAll() error { return f.Sync() }
