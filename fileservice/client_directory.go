package fileservice

import (
	"fmt"
	"io"
	"io/fs"
	"iter"
	"sync"
)

// directory is a directory that is open.
type directory struct {
	client *Client
	name   string
	info   *Info

	mu     sync.Mutex
	next   func() (*Info, error, bool)
	stop   func()
	closed bool
}

var _ fs.ReadDirFile = (*directory)(nil)

func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fmt.Errorf("%w: a directory", fs.ErrInvalid)}
}

// ReadDir gives the next entries, in the order of the server's file system. Between two calls the server waits, and not
// longer than its StallTimeout.
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, &fs.PathError{Op: "readdir", Path: d.name, Err: fs.ErrClosed}
	}
	if d.next == nil {
		d.next, d.stop = iter.Pull2(d.client.List(d.client.ctx, d.name))
	}
	var entries []fs.DirEntry
	for n <= 0 || len(entries) < n {
		info, err, more := d.next()
		if !more {
			break
		}
		if err != nil {
			return entries, err
		}
		entries = append(entries, info)
	}
	if n > 0 && len(entries) == 0 {
		return nil, io.EOF
	}
	return entries, nil
}

func (d *directory) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return &fs.PathError{Op: "close", Path: d.name, Err: fs.ErrClosed}
	}
	d.closed = true
	if d.stop != nil {
		d.stop()
	}
	return nil
}
