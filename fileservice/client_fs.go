package fileservice

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

var (
	_ fs.FS         = (*Client)(nil)
	_ fs.ReadDirFS  = (*Client)(nil)
	_ fs.ReadFileFS = (*Client)(nil)
	_ fs.StatFS     = (*Client)(nil)
)

// Open opens a regular file or a directory. The version of a file is the one it has now; if it changes, reads fail with
// ErrChanged. Symbolic links are not followed, and like devices and pipes they cannot be opened: fs.ErrInvalid.
//
// It costs the server nothing: a file that is open is only a name and a version on this side.
func (c *Client) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	info, err := c.Lookup(c.ctx, name)
	if err != nil {
		return nil, renamed("open", err)
	}
	switch {
	case info.IsDir():
		return &directory{client: c, name: name, info: info}, nil
	case info.Mode().IsRegular():
		return &file{client: c, name: name, info: info}, nil
	}
	err = notRegular(info.Mode())
	return nil, &fs.PathError{Op: "open", Path: name, Err: err}
}

// Stat describes one file; see [Client.Lookup].
func (c *Client) Stat(name string) (fs.FileInfo, error) {
	info, err := c.Lookup(c.ctx, name)
	if err != nil {
		return nil, err
	}
	return info, nil
}

// ReadFile gives all of a file. It takes memory as data comes, not as the server says it will.
func (c *Client) ReadFile(name string) ([]byte, error) {
	opened, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	regular, is := opened.(*file)
	if !is {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: a directory", fs.ErrInvalid)}
	}
	var content bytes.Buffer
	if _, err := regular.WriteTo(&content); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// renamed gives the error of one operation the name of the one that was called.
func renamed(op string, err error) error {
	if pathError, is := errors.AsType[*fs.PathError](err); is {
		return &fs.PathError{Op: op, Path: pathError.Path, Err: pathError.Err}
	}
	return err
}
