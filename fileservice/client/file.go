package client

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"

	"culvert/fileservice"
	"culvert/fileservice/internal/wire"
)

// rangeSize is how much one call of ReadAt reads. Larger requests go out as several calls at once.
const rangeSize = 4 * fileservice.BlockSize

// readAhead is how much Read asks for when it is called with little room.
const readAhead = 256 << 10

// file is a regular file that is open: a name, a version, and a position.
type file struct {
	client  *Client
	name    string
	info    *fileservice.Info
	content []byte // all of it, if there is little

	mu      sync.Mutex // guards what follows, for Read, Seek, WriteTo and Close
	offset  int64
	ahead   []byte // the bytes at offset, if they were read ahead
	storage []byte // what ahead is a part of
	closed  bool
}

var (
	_ io.ReaderAt = (*file)(nil)
	_ io.Seeker   = (*file)(nil)
	_ io.WriterTo = (*file)(nil)
)

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

// Content gives all of the file if it came when it was opened, and nil otherwise. It must not be changed.
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

// Read reads what follows, with some more if p is small.
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

// seek gives where io.Seeker leads in a file of that size, from one position to another.
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

// ReadAt reads large requests in several calls at once, over all connections.
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

// StartReadAt begins to fill p with the bytes from an offset on, and has done called when it has succeeded or failed,
// in another goroutine, which must not wait there. It is for small ranges within the file; for others it does nothing
// and gives false.
func (f *file) StartReadAt(p []byte, offset int64, done func(error)) bool {
	if len(p) == 0 || len(p) > wire.MaxPiece || len(f.content) > 0 || f.isClosed() ||
		offset < 0 || offset > f.info.Size()-int64(len(p)) {
		return false
	}
	f.client.pieces.start(f.client, f.name, f.info.Version(), p, offset, done)
	return true
}

// readAt reads a range that lies within the file.
func (f *file) readAt(p []byte, offset int64) (int, error) {
	if len(f.content) > 0 {
		return copy(p, f.content[offset:]), nil
	}
	if len(p) <= wire.MaxPiece {
		if len(p) == 0 {
			return 0, nil
		}
		if err := f.client.pieces.read(f.client, f.name, f.info.Version(), p, offset); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	if len(p) <= rangeSize {
		if err := f.client.ReadRange(f.client.ctx, f.name, f.info.Version(), p, offset); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return f.readParallel(p, offset)
}

// readParallel has two calls under way on each connection, so that none waits while the answer of another is on its
// way. What it gives ends where the first range begins that failed.
func (f *file) readParallel(p []byte, offset int64) (int, error) {
	ctx, cancel := context.WithCancel(f.client.ctx)
	defer cancel()
	var (
		mu     sync.Mutex
		next   int
		good   = len(p)
		failed error
		wait   sync.WaitGroup
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		start := next
		next += rangeSize
		return start
	}
	for range min(2*len(f.client.links), (len(p)+rangeSize-1)/rangeSize) {
		wait.Go(func() {
			for start := take(); start < len(p); start = take() {
				part := p[start:min(start+rangeSize, len(p))]
				err := f.client.ReadRange(ctx, f.name, f.info.Version(), part, offset+int64(start))
				if err == nil {
					continue
				}
				mu.Lock()
				if failed == nil || errors.Is(failed, context.Canceled) {
					failed = err
				}
				good, next = min(good, start), len(p)
				mu.Unlock()
				cancel()
			}
		})
	}
	wait.Wait()
	return good, failed
}

// WriteTo writes the rest of the file, a large part at a time.
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
	if len(f.content) > 0 {
		n, err := w.Write(f.content[f.offset:])
		f.offset += int64(n)
		if err == nil && int64(n) < left {
			err = io.ErrShortWrite
		}
		return int64(n), err
	}
	buffer := make([]byte, min(left, 2*rangeSize))
	written := int64(0)
	for left := f.info.Size() - f.offset; left > 0; left = f.info.Size() - f.offset {
		part := buffer[:min(left, int64(len(buffer)))]
		if _, err := f.readAt(part, f.offset); err != nil {
			return written, err
		}
		n, err := w.Write(part)
		written += int64(n)
		f.offset += int64(n)
		if err == nil && n < len(part) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
