package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Dir is a directory that is open, for who has to do with many files in it: each takes as few system calls as can be.
// A name is that of something in the directory, without a slash and neither "." nor "..", and is never followed where
// it is a link. The methods may be called by several goroutines at once, but for Close.
type Dir struct{ dir }

// OpenDir opens a directory of a root.
func OpenDir(root *os.Root, name string) (*Dir, error) {
	d, err := openDir(root, name)
	if err != nil {
		return nil, err
	}
	return &Dir{d}, nil
}

// Stat describes the directory itself.
func (d *Dir) Stat() (fs.FileInfo, error) { return d.stat() }

// Lstat describes a file.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) { return d.lstat(name) }

// FirstNames gives n names of what is in the directory, in no order, or all if those are fewer. It may be called once.
func (d *Dir) FirstNames(n int) ([]string, error) {
	names, err := d.readNames(n)
	if err == io.EOF {
		return nil, nil
	}
	return names, err
}

// Open opens a file to read. It does not wait for the other end of a pipe; that it is a regular file is for the caller
// to see. A link is an error.
func (d *Dir) Open(name string) (*DirFile, error) { return d.open(name) }

// CreateUnnamed makes a file that has no name until [Dir.Link] gives it one, and is gone when it is closed before that.
// Of the permissions the system takes the umask. It fails with [errors.ErrUnsupported] where the operating system or
// the file system has no such files.
func (d *Dir) CreateUnnamed(permissions fs.FileMode) (*DirFile, error) {
	f, err := d.createUnnamed(permissions)
	if err != nil && isUnsupported(err) {
		err = errors.Join(err, errors.ErrUnsupported)
	}
	return f, err
}

// Link names a file that was made without a name. It fails with [fs.ErrExist] if there is something of that name.
func (d *Dir) Link(file *DirFile, name string) error { return d.link(file, name) }

// Sync makes the names in the directory durable.
func (d *Dir) Sync() error { return d.sync() }

// Close closes the directory, and not the files that were opened in it.
func (d *Dir) Close() error { return d.close() }
