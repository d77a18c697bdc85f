package client

import (
	"io"
	"io/fs"
	"sync"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
)

// writeToSize is the size of a read of WriteTo.
const writeToSize = 8 * fileservice.BlockSize

// readAhead is the size of Read's request if p is small.
const readAhead = 256 << 10

// file is an open regular file: a name, a version and an offset.
type file struct {
	client  *Client
	name    string
	info    *fileservice.Info
	content []byte // of a small file; else nil

	mu      sync.Mutex // guards the fields below
	offset  int64
	ahead   []byte // bytes read ahead, at offset
	storage []byte // the buffer of ahead
	closed  bool
}

var (
	_ io.ReaderAt = (*file)(nil)
	_ io.Seeker   = (*file)(nil)
	_ io.WriterTo = (*file)(nil)
)

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

// Content returns the whole file if it came with Open, and nil otherwise. Callers must not change it.
func (f *file) Content() []byte { return f.content }

func (f *file) fail(op string, err error) error { return &fs.PathError{Op: op, Path: f.name, Err: err} }

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return f.fail("close", fs.ErrClosed)
	}
	f.closed, f.ahead, f.storage = true, nil, nil
	f.client.contents.Add(-int64(len(f.content)))
	return nil
}

func (f *file) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// Read reads at the current offset. It reads ahead if p is small.
func (f *file) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, f.fail("read", fs.ErrClosed)
	}
	left := f.info.Size() - f.offset
	switch {
	case len(p) == 0:
		return 0, nil
	case left <= 0:
		return 0, io.EOF
	case len(f.content) > 0 || len(f.ahead) == 0 && len(p) >= readAhead:
		n, err := f.readAt(p[:min(int64(len(p)), left)], f.offset)
		f.offset += int64(n)
		return n, err
	case len(f.ahead) == 0:
		if f.storage == nil {
			f.storage = make([]byte, min(readAhead, left))
		}
		n, err := f.readAt(f.storage[:min(int64(len(f.storage)), left)], f.offset)
		if err != nil {
			return 0, err
		}
		f.ahead = f.storage[:n]
	}
	n := copy(p, f.ahead)
	f.ahead = f.ahead[n:]
	f.offset += int64(n)
	return n, nil
}

func (f *file) Seek(offset int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, f.fail("seek", fs.ErrClosed)
	}
	offset, err := seek(f.offset, f.info.Size(), offset, whence)
	if err != nil {
		return 0, f.fail("seek", err)
	}
	f.offset, f.ahead = offset, nil
	return offset, nil
}

// seek returns the new offset of io.Seeker.
func seek(position, size, offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += position
	case io.SeekEnd:
		offset += size
	default:
		return 0, fs.ErrInvalid
	}
	if offset < 0 {
		return 0, fs.ErrInvalid
	}
	return offset, nil
}

// ReadAt implements io.ReaderAt. It reads large ranges in several calls at once, over several connections.
func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	if f.isClosed() {
		return 0, f.fail("read", fs.ErrClosed)
	}
	if offset < 0 {
		return 0, f.fail("read", fs.ErrInvalid)
	}
	left := f.info.Size() - offset
	if left >= int64(len(p)) {
		return f.readAt(p, offset)
	}
	if left <= 0 {
		return 0, io.EOF
	}
	n, err := f.readAt(p[:left], offset)
	if err == nil {
		err = io.EOF
	}
	return n, err
}

// StartReadAt starts to fill p with the bytes at offset. When that succeeded or failed, it calls done in another
// goroutine; done must not block. If the range is large or not within the file, or the client has a context of its own,
// StartReadAt does nothing and returns false.
func (f *file) StartReadAt(p []byte, offset int64, done func(error)) bool {
	if len(p) == 0 || len(p) > exchange.MaxInline || len(f.content) > 0 || f.isClosed() ||
		offset < 0 || offset > f.info.Size()-int64(len(p)) || f.client.ctx != f.client.life {
		return false
	}
	call := &exchange.Call{Request: exchange.Request{
		Kind: exchange.Get, Target: f.client.at(f.name), Version: f.info.Version(), Offset: offset, Length: len(p),
	}, Into: p}
	call.Done = func(err error) {
		switch {
		case isEnd(err):
			go f.readLater(p, offset, done)
			return
		case err == nil:
			err = checkLength(call)
		}
		done(fault("read", f.name, unreachable(err)))
	}
	conn, _ := f.client.pick(false)
	if conn == nil {
		go f.readLater(p, offset, done)
	} else if err := conn.Start(call); err != nil {
		call.Done(err)
	}
	return true
}

func (f *file) readLater(p []byte, offset int64, done func(error)) {
	done(f.client.ReadRange(f.client.ctx, f.name, f.info.Version(), p, offset))
}

// readAt reads a range within the file.
func (f *file) readAt(p []byte, offset int64) (int, error) {
	if len(f.content) > 0 {
		return copy(p, f.content[offset:]), nil
	}
	if len(p) == 0 {
		return 0, nil
	}
	if err := f.client.ReadRange(f.client.ctx, f.name, f.info.Version(), p, offset); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteTo implements io.WriterTo. It reads large parts at a time.
func (f *file) WriteTo(w io.Writer) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, f.fail("read", fs.ErrClosed)
	}
	f.ahead = nil
	left := f.info.Size() - f.offset
	if left <= 0 {
		return 0, nil
	}
	// A ReadFrom of w would choose the size of the reads.
	rest, into := io.NewSectionReader(lockedFile{f}, f.offset, left), struct{ io.Writer }{w}
	n, err := io.CopyBuffer(into, rest, make([]byte, min(left, writeToSize)))
	f.offset += n
	return n, err
}

// lockedFile is a file whose lock the caller holds.
type lockedFile struct{ *file }

func (f lockedFile) ReadAt(p []byte, offset int64) (int, error) { return f.readAt(p, offset) }
