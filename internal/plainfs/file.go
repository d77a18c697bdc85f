package plainfs

import (
	"io"
	"io/fs"
	"path"
	"sync"
	"time"
)

// info describes a file of the view.
type info struct {
	name    string
	size    int64
	mode    fs.FileMode
	modTime time.Time
	version any
}

// plainInfo gives the info of a file of the view for that of the encrypted one.
func plainInfo(name string, sealed fs.FileInfo, size int64) fs.FileInfo {
	return &info{path.Base(name), size, sealed.Mode(), sealed.ModTime(), versionOf(sealed)}
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.size }
func (i *info) Mode() fs.FileMode  { return i.mode }
func (i *info) ModTime() time.Time { return i.modTime }
func (i *info) IsDir() bool        { return i.mode.IsDir() }
func (i *info) Sys() any           { return i.version }
func (i *info) String() string     { return fs.FormatFileInfo(i) }

// file is a decrypted file that is open.
type file struct {
	content *content
	name    string

	mu     sync.Mutex
	offset int64
	closed bool
}

var (
	_ io.ReaderAt = (*file)(nil)
	_ io.Seeker   = (*file)(nil)
)

// Stat tells of the version that the file system has now, with the size of the one that is open.
func (f *file) Stat() (fs.FileInfo, error) {
	sealed, err := f.content.source.Stat()
	if err != nil {
		return nil, f.fail("stat", err)
	}
	return plainInfo(f.name, sealed, f.content.size), nil
}

func (f *file) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: withoutPath(err)}
}

// Read reads what follows.
func (f *file) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, f.fail("read", fs.ErrClosed)
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := f.readAt(p, f.offset)
	f.offset += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadAt reads from anywhere. What it returns is authentic, also beside an error.
func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	f.mu.Lock()
	closed := f.closed
	f.mu.Unlock()
	switch {
	case closed:
		return 0, f.fail("read", fs.ErrClosed)
	case offset < 0:
		return 0, f.fail("read", fs.ErrInvalid)
	}
	return f.readAt(p, offset)
}

func (f *file) readAt(p []byte, offset int64) (int, error) {
	n, err := f.content.text.ReadAt(p, offset)
	if err != nil && err != io.EOF {
		err = f.fail("read", err)
	}
	return n, err
}

// Seek sets where Read goes on.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.content.size
	default:
		return 0, f.fail("seek", fs.ErrInvalid)
	}
	if f.closed {
		return 0, f.fail("seek", fs.ErrClosed)
	}
	if offset < 0 {
		return 0, f.fail("seek", fs.ErrInvalid)
	}
	f.offset = offset
	return offset, nil
}

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return f.fail("close", fs.ErrClosed)
	}
	f.closed = true
	return f.content.source.Close()
}
