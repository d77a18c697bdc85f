// Package place defines the interface between programs and the places where files are kept: a directory, a server, a
// bucket.
//
// A [Place] is read as an [io/fs.FS]. Its regular files implement [io.ReaderAt], and their Stat returns the size:
//
//	orders, err := p.Open("2026/orders.csv.zst.age")
//	data := orders.(io.ReaderAt)
//
// A file is written from its beginning to its end. It appears under its name when it is complete, or not at all:
//
//	f, err := p.Create(ctx, "2026/orders.csv.zst.age")
//	if err != nil {
//		return err
//	}
//	defer f.Discard() // does nothing after Commit
//	if _, err := io.Copy(f, src); err != nil {
//		return err
//	}
//	return f.Commit()
//
// Package [culvert/place/dir] is the place for a directory, and [culvert/place/bucket] for a bucket of an object store.
//
// # Names
//
// Names are paths as [io/fs.ValidPath] defines them: slash-separated, without a leading slash, "." or "..". A place may
// have no directories of its own, so a name needs no parent: Create makes missing directories. Discard removes
// those that Create has made, if they are empty.
//
// # Errors
//
// Errors about a file are of type [*io/fs.PathError] with the name in the place. They wrap [io/fs.ErrExist],
// [io/fs.ErrNotExist], [io/fs.ErrInvalid], [io/fs.ErrPermission] and [io/fs.ErrClosed] as those of package os do.
// Places on other machines have further kinds: [ErrChanged], [ErrIntegrity], [ErrRefused] and [ErrUnreachable].
package place

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
)

// Errors of places on other machines that callers can act on.
var (
	// ErrChanged means that the file is no longer the one that was opened. Data of the two must not be mixed.
	ErrChanged = errors.New("place: the file has changed")

	// ErrIntegrity means that the place has not sent what it should. No data of such an answer was returned.
	ErrIntegrity = errors.New("place: the answer is not sound")

	// ErrRefused means that the place does not do what it was asked, because a permission is missing, for example. The
	// message says why.
	ErrRefused = errors.New("place: refused")

	// ErrUnreachable means that the place could not be reached, or was silent for too long. The same call may succeed
	// later.
	ErrUnreachable = errors.New("place: not reachable")
)

// Version identifies the content of a file: equal versions mean equal bytes. Sys of the files of a place returns it if
// the place has versions.
type Version string

// Place is a set of files. Its methods may be called concurrently, and any number of files may be open or under
// construction.
type Place interface {
	// Open opens a file or a directory for reading. A regular file implements io.ReaderAt, which may be called
	// concurrently, and a directory implements fs.ReadDirFile.
	fs.FS

	// Create begins a file that must not exist. If something of that name exists, Create or Commit fails with an error
	// that wraps fs.ErrExist, and leaves it as it is.
	//
	// The context covers the file until Commit or Discard returns. When it ends, Write and Commit fail.
	Create(ctx context.Context, name string) (File, error)

	// Replace is like Create, except that Commit replaces a file of that name. Readers see the old file or the new one.
	Replace(ctx context.Context, name string) (File, error)

	// Remove removes a file.
	Remove(ctx context.Context, name string) error
}

// File is a file under construction. Its methods must not be called concurrently. A File that is neither committed nor
// discarded may occupy space until its place is closed, or longer.
type File interface {
	// Write appends to the file. After it has failed, Write and Commit fail.
	io.Writer

	// Commit completes the file: once it returns nil, the file has its name and survives a crash of the machine that
	// holds it. If it fails, the place has either the complete file or what it had before, never a part of the file.
	//
	// After Commit, Write and Commit fail with fs.ErrClosed, whatever it has returned.
	Commit() error

	// Discard removes what was written, also if the context has ended. After Commit or Discard it does nothing and
	// returns nil.
	Discard() error
}

// Grouped is implemented by files of places that commit several files together in less time than one after the other.
type Grouped interface {
	File

	// CommitAll is Commit for several files of the same place, one of which is the receiver. It returns the error of
	// each, in their order.
	CommitAll(files []File) []error
}

// WithContext returns a place whose Open, Stat and Lstat, and the files that it opens, fail when ctx ends. It returns p
// if p has no method WithContext: then calls under way are not cut off.
func WithContext(ctx context.Context, p Place) Place {
	if with, is := p.(interface {
		WithContext(ctx context.Context) Place
	}); is {
		return with.WithContext(ctx)
	}
	return p
}

// Sub returns the place whose names are those of p below the directory dir. The directory need not exist before a file
// is created in it. Errors name files as p does. If dir is ".", Sub returns p.
func Sub(p Place, dir string) (Place, error) {
	switch {
	case !fs.ValidPath(dir):
		return nil, &fs.PathError{Op: "sub", Path: dir, Err: fs.ErrInvalid}
	case dir == ".":
		return p, nil
	}
	return &sub{p, dir}, nil
}

type sub struct {
	Place
	dir string
}

func (s *sub) WithContext(ctx context.Context) Place { return &sub{WithContext(ctx, s.Place), s.dir} }

// at returns the name in the outer place. An invalid name stays invalid.
func (s *sub) at(name string) string {
	if !fs.ValidPath(name) {
		return name
	}
	return path.Join(s.dir, name)
}

func (s *sub) Open(name string) (fs.File, error)      { return s.Place.Open(s.at(name)) }
func (s *sub) Stat(name string) (fs.FileInfo, error)  { return fs.Stat(s.Place, s.at(name)) }
func (s *sub) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(s.Place, s.at(name)) }
func (s *sub) ReadLink(name string) (string, error)   { return fs.ReadLink(s.Place, s.at(name)) }

func (s *sub) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(s.Place, s.at(name)) }

// file is at for a name that cannot be the directory itself.
func (s *sub) file(name string) string {
	if name == "." {
		return "" // no valid name
	}
	return s.at(name)
}

func (s *sub) Create(ctx context.Context, name string) (File, error) {
	return s.Place.Create(ctx, s.file(name))
}

func (s *sub) Replace(ctx context.Context, name string) (File, error) {
	return s.Place.Replace(ctx, s.file(name))
}

func (s *sub) Remove(ctx context.Context, name string) error {
	return s.Place.Remove(ctx, s.file(name))
}
