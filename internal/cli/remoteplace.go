package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"culvert/fileservice/client"
	"culvert/place"
)

// remotePlace is the tree of a server as a place.
type remotePlace struct{ *client.Client }

var _ place.Place = remotePlace{}

// Create implements [place.Place].
func (p remotePlace) Create(ctx context.Context, name string) (place.File, error) {
	return p.create(ctx, name, false)
}

// Replace implements [place.Place].
func (p remotePlace) Replace(ctx context.Context, name string) (place.File, error) {
	return p.create(ctx, name, true)
}

// Remove implements [place.Place].
func (p remotePlace) Remove(ctx context.Context, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return p.Client.Remove(name)
}

func (p remotePlace) create(ctx context.Context, name string, replace bool) (place.File, error) {
	if name == "." || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrInvalid}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if !replace {
		if _, err := p.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return nil, cmp.Or(err, error(&fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}))
		}
	}
	f := &remoteFile{ctx: ctx, place: p, name: name, replace: replace}
	if err := f.mkdir(path.Dir(name)); err != nil {
		return nil, errors.Join(err, f.removeMade())
	}
	opened, err := p.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, errors.Join(err, f.removeMade())
	}
	f.WritableFile = opened.(*client.WritableFile)
	f.unwatch = context.AfterFunc(ctx, func() { _ = f.Close() }) // ends a call that waits for the server
	return f, nil
}

// remoteFile is a draft of the server.
type remoteFile struct {
	*client.WritableFile
	ctx     context.Context
	place   remotePlace
	name    string
	replace bool
	made    []string // directories, the innermost last
	unwatch func() bool
	closed  bool
}

// mkdir makes the missing directories of a path.
func (f *remoteFile) mkdir(name string) error {
	if _, err := f.place.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.mkdir(path.Dir(name)); err != nil {
		return err
	}
	err := f.place.Mkdir(name, 0o777)
	if err == nil {
		f.made = append(f.made, name)
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return err
}

// removeMade removes the directories that mkdir has made, if they are empty.
func (f *remoteFile) removeMade() error {
	for i := len(f.made) - 1; i >= 0; i-- {
		if f.place.Client.Remove(f.made[i]) != nil {
			break // others write there
		}
	}
	return nil
}

func (f *remoteFile) Write(p []byte) (int, error) {
	if f.closed {
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: fs.ErrClosed}
	}
	n, err := f.WritableFile.Write(p)
	return n, f.cause(err)
}

// cause is the reason for an error if the context has ended.
func (f *remoteFile) cause(err error) error {
	if cause := context.Cause(f.ctx); cause != nil {
		return cause
	}
	return err
}

// Commit implements [place.File].
func (f *remoteFile) Commit() error {
	if f.closed {
		return &fs.PathError{Op: "commit", Path: f.name, Err: fs.ErrClosed}
	}
	err := f.Sync()
	if err == nil {
		err = f.Publish(f.name, f.replace)
	}
	if err != nil {
		return errors.Join(f.cause(err), f.Discard())
	}
	f.closed = true
	f.unwatch()
	_ = f.Close() // the file has its name, and is durable
	return nil
}

// Discard implements [place.File].
func (f *remoteFile) Discard() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.unwatch()
	_ = f.Close() // the server drops it in any case
	return f.removeMade()
}
