package client

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
	_ fs.ReadLinkFS = (*Client)(nil)
	_ fs.StatFS     = (*Client)(nil)
)

// Open opens a regular file or a directory. The version of a file is the one it has now; if it changes, reads fail with
// ErrChanged. Symbolic links are not followed, and like devices and pipes they cannot be opened: fs.ErrInvalid.
//
// It asks the server once. That gives the content of a file of up to 64 KiB along, which reads then take from there; of
// a client's open files, at most 16 MiB are held so. Otherwise a file that is open is only a name and a version on this
// side, and costs the server nothing.
func (c *Client) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	info, content, err := c.open(c.ctx, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return newDirectory(c, name, info), nil
	}
	return &file{client: c, name: name, info: info, content: content}, nil
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
	_, err = regular.WriteTo(&content)
	if err = errors.Join(err, regular.Close()); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}
