package publish

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Dir is an open directory, for callers that read or write many files in it with few system calls each. Names have no
// slash, are neither "." nor "..", and are not followed if they are links. The methods may be called by several
// goroutines at once, except Close.
type Dir struct{ dir }

// OpenDir opens a directory of a root.
func OpenDir(root *os.Root, name string) (*Dir, error) { return ownDir(root.OpenRoot(name)) }

// ownDir returns a root as a directory, which closes it.
func ownDir(root *os.Root, err error) (*Dir, error) {
	if err != nil {
		return nil, err
	}
	d, err := newDir(root)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Dir{d}, nil
}

// Stat describes the directory itself.
func (d *Dir) Stat() (fs.FileInfo, error) { return d.stat() }

// Lstat describes a file.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) { return d.lstat(name) }

// FirstNames returns n names in the directory, in no order, or all if there are fewer. It may be called once.
func (d *Dir) FirstNames(n int) ([]string, error) {
	names, err := d.readNames(n)
	if err == io.EOF {
		return nil, nil
	}
	return names, err
}

// Open opens a file for reading. It does not wait for the other end of a pipe: the caller checks that the file is a
// regular one. A link is an error.
func (d *Dir) Open(name string) (*DirFile, error) { return d.open(name) }

// CreateUnnamed creates a file that has no name until [Dir.Link], and vanishes if it is closed before that. The umask
// is taken from the permissions. CreateUnnamed fails with [errors.ErrUnsupported] if the operating system or the file
// system has no such files.
func (d *Dir) CreateUnnamed(permissions fs.FileMode) (*DirFile, error) {
	f, err := d.createUnnamed(permissions)
	if err != nil && isUnsupported(err) {
		err = errors.Join(err, errors.ErrUnsupported)
	}
	return f, err
}

// Link names a file of [Dir.CreateUnnamed]. It fails with [fs.ErrExist] if the name is taken.
func (d *Dir) Link(file *DirFile, name string) error { return d.link(file, name) }

// Sync makes the names in the directory durable.
func (d *Dir) Sync() error { return d.sync() }

// Close closes the directory, but not the files that were opened in it.
func (d *Dir) Close() error { return d.close() }
