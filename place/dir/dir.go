// Package dir provides a directory as a [place.Place].
//
// A file that is under construction has another name in the directory in which it is to appear:
//
//	orders.csv.zst.age.k3v7q2ma.part ──▶ fsync ──▶ rename ──▶ fsync of the directory ──▶ orders.csv.zst.age
//
// The middle of the name is random, so concurrent writers of one file do not touch each other's data. The temporary
// file is removed by Discard, and as soon as the context of Create ends, even if the writer hangs. Only a process that
// is killed leaves it behind.
//
// A new file has the permissions 0666 less the umask. Replace keeps the permissions of the old file.
//
// As with [os.Root], nothing outside the directory is read or written, wherever symbolic links in it lead. Create and
// Replace refuse a name that belongs to anything but a regular file. Open does not wait for the other end of a named
// pipe.
package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"

	"culvert/internal/publish"
	"culvert/place"
)

// Dir is a directory. Its methods may be called concurrently.
type Dir struct {
	fs.ReadLinkFS
	root *os.Root

	mu        sync.Mutex
	made      map[string]bool    // directories, by their names in the place
	held      map[string]*held   // directories with files under construction, by their names in the place
	publisher *publish.Publisher // nil before the first file is written
}

// held is a directory that stays open while files are written to it.
type held struct {
	*publish.Dir
	files int
}

var (
	_ place.Place   = (*Dir)(nil)
	_ place.Grouped = (*file)(nil)
)

// Open opens a directory, which must exist.
func Open(name string) (*Dir, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Dir{
		ReadLinkFS: root.FS().(fs.ReadLinkFS), root: root, made: map[string]bool{}, held: map[string]*held{},
	}, nil
}

// Close closes the directory. Files that are open stay so. Files under construction must have been committed or
// discarded.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.publisher == nil {
		return d.root.Close()
	}
	return errors.Join(d.publisher.Close(), d.root.Close())
}

// Open opens a file or a directory as an [*os.File].
func (d *Dir) Open(name string) (fs.File, error) {
	local, err := localize("open", name)
	if err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(local, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err // not a nil pointer in an interface
	}
	return f, nil
}

// Stat describes the file that Open opens.
func (d *Dir) Stat(name string) (fs.FileInfo, error) { return fs.Stat(d.ReadLinkFS, name) }

// Create implements [place.Place].
func (d *Dir) Create(ctx context.Context, name string) (place.File, error) {
	return d.create(ctx, name, false)
}

// Replace implements [place.Place].
func (d *Dir) Replace(ctx context.Context, name string) (place.File, error) {
	return d.create(ctx, name, true)
}

// Remove implements [place.Place].
func (d *Dir) Remove(ctx context.Context, name string) error {
	local, err := localize("remove", name)
	if err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return d.root.Remove(local)
}

func localize(op, name string) (string, error) {
	local, err := filepath.Localize(name)
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return local, nil
}

func (d *Dir) create(ctx context.Context, name string, replace bool) (place.File, error) {
	local, err := localize("create", name)
	if err != nil || name == "." {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrInvalid}
	}
	f := &file{ctx: ctx, dir: d, name: name, replace: replace}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if d.publisher == nil {
		if d.publisher, err = publish.NewPublisher(d.root); err != nil {
			return nil, f.named("create", err)
		}
	}
	directory := path.Dir(name)
	if err := d.hold(directory, filepath.Dir(local)); err != nil {
		return nil, errors.Join(f.named("create", err), d.removeEmpty(directory))
	}
	if err := f.begin(d.held[directory].Dir, local); err != nil {
		return nil, errors.Join(f.named("create", err), d.release(directory), d.removeEmpty(directory))
	}
	f.remove = sync.OnceValue(f.discard)
	f.unwatch = context.AfterFunc(ctx, func() { _ = f.remove() }) // Discard returns the error
	return f, nil
}

// begin creates the file in its directory.
func (f *file) begin(dir *publish.Dir, local string) (err error) {
	mode := fs.FileMode(0o666)
	switch info, err := dir.Lstat(filepath.Base(local)); {
	case err == nil && !info.Mode().IsRegular() && f.replace:
		return errNotRegular
	case err == nil && !f.replace:
		return fs.ErrExist
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f.writer, err = publish.CreateIn(dir, local, mode, func() error {
		f.dir.mu.Lock()
		defer f.dir.mu.Unlock()
		return f.dir.release(path.Dir(f.name))
	})
	return err
}

var errNotRegular = fmt.Errorf("%w and is not a regular file", fs.ErrExist)

// hold opens a directory for one more file, and makes it if it is missing. The lock must be held.
func (d *Dir) hold(name, local string) error {
	if d.held[name] == nil {
		if err := d.mkdir(name); err != nil {
			return err
		}
		opened, err := publish.OpenDir(d.root, local)
		if err != nil {
			return err
		}
		d.held[name] = &held{Dir: opened}
	}
	d.held[name].files++
	return nil
}

// release closes a directory if no other file is written to it. The lock must be held.
func (d *Dir) release(name string) error {
	h := d.held[name]
	if h.files--; h.files > 0 {
		return nil
	}
	delete(d.held, name)
	return h.Close()
}

// mkdir makes the missing directories of a path. The lock must be held.
func (d *Dir) mkdir(name string) error {
	if name == "." {
		return nil
	}
	if _, err := d.root.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.mkdir(path.Dir(name)); err != nil {
		return err
	}
	switch err := d.root.Mkdir(name, 0o777); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	d.made[name] = true
	return publish.SyncDir(d.root, path.Dir(name))
}

// removeEmpty removes the directories of a path that mkdir has made, if they are empty. The lock must be held.
func (d *Dir) removeEmpty(name string) error {
	for ; d.made[name]; name = path.Dir(name) {
		opened, err := d.root.Open(name)
		if err != nil {
			return err
		}
		entries, _ := opened.Readdirnames(1)
		if err := opened.Close(); err != nil || len(entries) > 0 {
			return err
		}
		if err := d.root.Remove(name); err != nil {
			return err
		}
		delete(d.made, name)
	}
	return nil
}

// file is a file under construction.
type file struct {
	ctx     context.Context
	dir     *Dir
	writer  *publish.Writer
	name    string // in the place
	replace bool
	closed  bool
	remove  func() error // discard, once
	unwatch func() bool
}

// named puts the name of the file into an error.
func (f *file) named(op string, err error) error {
	if inner, is := errors.AsType[*fs.PathError](err); is {
		err = inner.Err
	}
	if err != nil {
		err = &fs.PathError{Op: op, Path: f.name, Err: err}
	}
	return err
}

// cause returns why the file was closed, if the context has ended during a call.
func (f *file) cause(err error) error {
	if cause := context.Cause(f.ctx); cause != nil && errors.Is(err, fs.ErrClosed) {
		return cause
	}
	return err
}

func (f *file) Write(p []byte) (int, error) {
	if f.closed {
		return 0, f.named("write", fs.ErrClosed)
	}
	if err := context.Cause(f.ctx); err != nil {
		return 0, err
	}
	n, err := f.writer.Write(p)
	return n, f.cause(f.named("write", err))
}

func (f *file) Commit() error {
	if f.closed {
		return f.named("commit", fs.ErrClosed)
	}
	err := context.Cause(f.ctx)
	if err == nil {
		err = f.cause(f.named("commit", f.writer.Commit(f.replace)))
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	f.closed = true
	f.unwatch()
	return nil
}

// CommitAll implements [place.Grouped]. The files share their syncs.
func (f *file) CommitAll(files []place.File) []error {
	errs := make([]error, len(files))
	var writers []*publish.Writer
	var of []int // files
	for i, one := range files {
		one, is := one.(*file)
		switch {
		case !is || one.dir != f.dir:
			errs[i] = files[i].Commit()
		case one.closed:
			errs[i] = one.named("commit", fs.ErrClosed)
		case context.Cause(one.ctx) != nil:
			errs[i] = errors.Join(context.Cause(one.ctx), one.Discard())
		default:
			writers, of = append(writers, one.writer), append(of, i)
		}
	}
	for i, err := range f.dir.publisher.Commit(writers, func(i int) bool { return files[of[i]].(*file).replace }) {
		one := files[of[i]].(*file)
		if err != nil {
			errs[of[i]] = errors.Join(one.cause(one.named("commit", err)), one.Discard())
			continue
		}
		one.closed = true
		one.unwatch()
	}
	return errs
}

func (f *file) Discard() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.unwatch()
	return f.remove()
}

// discard removes the temporary file, and the directories that were made for it.
func (f *file) discard() error {
	err := f.named("discard", f.writer.Discard())
	f.dir.mu.Lock()
	defer f.dir.mu.Unlock()
	return errors.Join(err, f.dir.removeEmpty(path.Dir(f.name)))
}
