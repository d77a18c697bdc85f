package client

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"culvert/internal/grace"
	"culvert/place"
)

// Place returns the files of the client as a [place.Place].
func (c *Client) Place() place.Place { return tree{c} }

// tree is a client with the methods that [place.Place] requires.
type tree struct{ *Client }

func (t tree) WithContext(ctx context.Context) place.Place { return tree{t.Client.WithContext(ctx)} }

func (t tree) Remove(ctx context.Context, name string) error {
	return t.Client.WithContext(ctx).Remove(name)
}

// Create begins a file that must not exist, and creates missing directories. Commit gives the complete, durable file
// its name. Until then, and after Discard, nothing is visible under the name. When ctx ends, Write and Commit fail.
func (c *Client) Create(ctx context.Context, name string) (place.File, error) {
	return c.create(ctx, name, false)
}

// Replace is like Create, but Commit replaces an existing file.
func (c *Client) Replace(ctx context.Context, name string) (place.File, error) {
	return c.create(ctx, name, true)
}

func (c *Client) create(ctx context.Context, name string, replace bool) (place.File, error) {
	if name == "." || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrInvalid}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if !replace {
		if _, err := c.WithContext(ctx).Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return nil, cmp.Or(err, error(&fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}))
		}
	}
	f := &createdFile{ctx: ctx, client: c.WithContext(c.life), name: name, replace: replace}
	err := f.mkdir(c.WithContext(ctx), path.Dir(name))
	if err == nil {
		f.draft, err = c.openDraft(ctx, name)
	}
	if err != nil {
		f.removeMade()
		return nil, err
	}
	f.unwatch = context.AfterFunc(ctx, func() { _ = f.draft.Close() }) // ends calls in progress
	return f, nil
}

// openPatience is how long openDraft waits for the server's answer after its context has ended.
const openPatience = 2 * time.Second

// openDraft opens a draft of a new file. If the context ends meanwhile, it drops what the server has opened, which
// would otherwise stay there until the server gives the client up.
func (c *Client) openDraft(ctx context.Context, name string) (*WritableFile, error) {
	waiting, cancel := grace.Context(ctx, openPatience)
	defer cancel()
	opened, err := c.openFile(waiting, name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	draft := opened.(*WritableFile)
	if cause := context.Cause(ctx); cause != nil {
		_ = draft.Close() // the server drops the draft in any case
		return nil, cause
	}
	return draft, nil
}

// createdFile is a file that was created but not committed.
type createdFile struct {
	draft   *WritableFile
	ctx     context.Context
	client  *Client // still usable after ctx has ended
	name    string
	replace bool
	made    []string // directories that mkdir created, the innermost last
	unwatch func() bool
	closed  bool
}

// mkdir creates the missing directories of a path durably, because Commit syncs only the file's own directory.
func (f *createdFile) mkdir(c *Client, name string) error {
	if _, err := c.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.mkdir(c, path.Dir(name)); err != nil {
		return err
	}
	switch err := c.Mkdir(name, 0o777); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	f.made = append(f.made, name)
	return c.SyncDir(path.Dir(name))
}

// removeMade removes the directories that mkdir created, if they are empty.
func (f *createdFile) removeMade() {
	for i := len(f.made) - 1; i >= 0; i-- {
		if f.client.Remove(f.made[i]) != nil {
			break // others write there
		}
	}
}

func (f *createdFile) Write(p []byte) (int, error) {
	if f.closed {
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: fs.ErrClosed}
	}
	if err := context.Cause(f.ctx); err != nil {
		return 0, err
	}
	n, err := f.draft.Write(p)
	return n, f.cause(err)
}

// cause returns the cause of the context's end, or else err.
func (f *createdFile) cause(err error) error {
	if cause := context.Cause(f.ctx); cause != nil && err != nil {
		return cause
	}
	return err
}

// Commit implements [place.File].
func (f *createdFile) Commit() error {
	if f.closed {
		return &fs.PathError{Op: "commit", Path: f.name, Err: fs.ErrClosed}
	}
	err := context.Cause(f.ctx)
	if err == nil {
		err = f.draft.Sync()
	}
	if err == nil {
		err = f.draft.Publish(f.name, f.replace)
	}
	if err != nil {
		return errors.Join(f.cause(err), f.Discard())
	}
	f.closed = true
	f.unwatch()
	_ = f.draft.Close() // the file is durable under its name
	return nil
}

// Discard implements [place.File].
func (f *createdFile) Discard() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.unwatch()
	_ = f.draft.Close() // the server drops the draft in any case
	f.removeMade()
	return nil
}
