package fusefs

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"
)

// reader serves the reads of one handle.
type reader struct {
	m       *mount
	content io.ReaderAt
	size    int64
	check   func() error // returns an error if the file is no longer the opened version
	held    bool         // it is all in memory, and its reads say nothing about the link

	fetches sync.WaitGroup // under way

	// Guarded by m.buffers.mu.
	runs   runs
	blocks map[int64]*block // by start / blockSize
	stale  bool             // the opened version is gone
	closed bool
}

func newReader(m *mount, content io.ReaderAt, size int64, check func() error) *reader {
	return &reader{m: m, content: content, size: size, check: check, blocks: map[int64]*block{}}
}

// read returns length bytes at offset, or fewer at the end of the file.
func (r *reader) read(ctx context.Context, length int, offset int64) (*result, syscall.Errno) {
	p := &pending{length: length, offset: offset}
	if errno := r.plan(p); errno != 0 {
		return nil, errno
	}
	return r.wait(r.m.deadline(ctx), p)
}

// plan cuts a read off at the end of the file, pins the blocks that hold it, and reads ahead.
func (r *reader) plan(p *pending) syscall.Errno {
	b := r.m.buffers
	b.mu.Lock()
	defer b.mu.Unlock()
	p.length = int(max(0, min(int64(p.length), r.size-p.offset)))
	switch {
	case p.length == 0:
		return 0
	case r.stale:
		return syscall.ESTALE
	case r.closed:
		return syscall.EIO
	}
	end := p.offset + int64(p.length)
	p.blocks = r.use(p.offset, end)
	if sequence := r.runs.note(p.offset, end, p.blocks != nil); sequence.isSequential() {
		r.readAhead(sequence)
	}
	return 0
}

// wait returns the bytes of a read that was planned.
func (r *reader) wait(d *deadline, p *pending) (*result, syscall.Errno) {
	if p.length == 0 {
		return &result{}, 0
	}
	if p.blocks != nil {
		got, errno := r.m.await(d, p.blocks, p.offset, p.length)
		if errno == 0 || d.over {
			return got, errno
		}
	}
	buffer, errno := r.m.buffers.take(d, p.length)
	if errno != 0 {
		return nil, errno
	}
	own := newBlock(buffer, p.offset, p.length)
	r.fill(own, nil)
	return r.m.await(d, []*block{own}, p.offset, p.length)
}

// fill reads a block in another goroutine, and then calls then, unless that is nil.
func (r *reader) fill(k *block, then func(error)) {
	b := r.m.buffers
	b.mu.Lock()
	if !r.closed {
		r.fetches.Add(1)
		k.reader = r
	}
	b.mu.Unlock()
	end := func(err error) {
		b.landed(k, err)
		if then != nil {
			then(err)
		}
	}
	if k.reader == nil {
		end(fs.ErrClosed)
		return
	}
	into := k.buffer[:k.end-k.start]
	if !r.startFetch(into, k.start, end) {
		go func() { end(r.fetch(into, k.start)) }()
	}
}

// fetch fills p with the bytes of the opened version at offset.
func (r *reader) fetch(p []byte, offset int64) error {
	var err error
	for len(p) > 0 && err == nil {
		var n int
		n, err = r.fetchSome(p, offset)
		p, offset = p[n:], offset+int64(n)
		if err == nil && len(p) > 0 && r.isClosed() {
			// Nothing waits for the rest, and others need the link.
			err = fs.ErrClosed
		}
	}
	r.noteError(err)
	return err
}

// fetchSome fills as much of p as the link allows at once, and returns how much.
func (r *reader) fetchSome(p []byte, offset int64) (int, error) {
	if r.held {
		return len(p), r.fetchPiece(p, offset)
	}
	part := r.m.link.begin(len(p))
	err := r.fetchPiece(p[:part.length], offset)
	r.m.link.end(part, err == nil)
	return part.length, err
}

// noteError makes all later reads fail if the opened version is gone.
func (r *reader) noteError(err error) {
	if err == nil || r.m.errno(err) != syscall.ESTALE {
		return
	}
	b := r.m.buffers
	b.mu.Lock()
	r.stale = true
	b.mu.Unlock()
}

// startFetch is fetch without a waiting goroutine, if the file has StartReadAt and the link allows all of p at once.
// StartReadAt returns immediately. It calls done once, with nil when p has the bytes of the opened version, or with an
// error. Or it returns false and does nothing.
func (r *reader) startFetch(p []byte, offset int64, end func(error)) bool {
	starter, is := r.content.(interface {
		StartReadAt(p []byte, offset int64, done func(error)) bool
	})
	if !is || r.held || len(p) > leastPiece {
		return false
	}
	part := r.m.link.begin(len(p))
	var once sync.Once // a panic may follow the call of done
	finish := func(err error) {
		once.Do(func() {
			r.m.link.end(part, err == nil)
			r.noteError(err)
			end(err)
		})
	}
	started, err := guarded(r.m, func() (bool, error) { return starter.StartReadAt(p, offset, finish), nil })
	switch {
	case err != nil:
		finish(err)
	case !started:
		r.m.link.end(part, false)
	}
	return started || err != nil
}

// fetchPiece fills p with one call of the file system.
func (r *reader) fetchPiece(p []byte, offset int64) error {
	n, err := guarded(r.m, func() (int, error) { return r.content.ReadAt(p, offset) })
	if err != nil && err != io.EOF {
		return err
	}
	// A short read may be of another version, or the size was wrong.
	if _, err := guarded(r.m, func() (struct{}, error) { return struct{}{}, r.check() }); err != nil {
		return err
	}
	if n != len(p) {
		return fmt.Errorf("fusefs: %d bytes at %d: %w", len(p), offset, io.ErrUnexpectedEOF)
	}
	return nil
}

func (r *reader) isClosed() bool {
	b := r.m.buffers
	b.mu.Lock()
	defer b.mu.Unlock()
	return r.closed
}

// close drops all blocks, and returns when no fetch is under way.
func (r *reader) close() {
	b := r.m.buffers
	b.mu.Lock()
	r.closed = true
	for _, k := range r.blocks {
		b.drop(k)
	}
	b.mu.Unlock()
	r.fetches.Wait()
}
