package fusefs

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// reader serves the reads of one handle.
type reader struct {
	m       *mount
	content io.ReaderAt
	size    int64
	check   func() error // returns an error if the file is no longer the opened version
	held    bool         // it is all in memory, and its reads say nothing about the link

	// Guarded by m.buffers.mu.
	runs    runs
	blocks  map[int64]*block // by start / blockSize
	fetches int              // under way
	stale   bool             // the opened version is gone
	closed  chan struct{}    // not nil once the reader is closed; closed after the last fetch
}

func newReader(m *mount, content io.ReaderAt, size int64, check func() error) *reader {
	return &reader{m: m, content: content, size: size, check: check, blocks: map[int64]*block{}}
}

// read returns length bytes at offset, or fewer at the end of the file.
func (r *reader) read(ctx context.Context, length int, offset int64) (fuse.ReadResult, syscall.Errno) {
	if offset >= r.size {
		return fuse.ReadResultData(nil), 0
	}
	end := offset + min(int64(length), r.size-offset)
	d := r.m.readDeadline(ctx)
	defer d.stop()

	b := r.m.buffers
	b.mu.Lock()
	if r.stale || r.closed != nil {
		errno := syscall.EIO
		if r.stale {
			errno = syscall.ESTALE
		}
		b.mu.Unlock()
		return nil, errno
	}
	used := r.use(offset, end)
	if sequence := r.runs.note(offset, end, used != nil); sequence.isSequential() {
		r.readAhead(sequence)
		r.dropBehind(sequence)
	}
	b.mu.Unlock()

	if used != nil {
		if result, errno := r.await(d, used, offset, end); result != nil || errno != 0 {
			return result, errno
		}
	}
	return r.direct(d, offset, end)
}

// await waits for blocks, and returns nil if they failed.
func (r *reader) await(d *deadline, used []*block, offset, end int64) (fuse.ReadResult, syscall.Errno) {
	b := r.m.buffers
	var errno syscall.Errno
	for _, k := range used {
		if _, errno = wait(d, k.done); errno != 0 {
			break
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	failed := r.stale || errno != 0
	for _, k := range used {
		failed = failed || k.failed
	}
	if failed {
		b.unuse(used)
		return nil, errno
	}
	answer := &result{buffers: b, blocks: used}
	for _, k := range used {
		part := k.buffer[max(offset, k.start)-k.start : min(end, k.end)-k.start]
		k.served += int64(len(part))
		answer.slices = append(answer.slices, part)
	}
	return answer, 0
}

// direct reads only what was asked for.
func (r *reader) direct(d *deadline, offset, limit int64) (fuse.ReadResult, syscall.Errno) {
	b := r.m.buffers
	length := int(limit - offset)
	buffer, errno := b.take(d, length)
	if errno != 0 {
		return nil, errno
	}
	b.mu.Lock()
	if r.closed != nil {
		b.putLocked(buffer)
		b.mu.Unlock()
		return nil, syscall.EIO
	}
	r.fetches++
	b.mu.Unlock()
	done := make(chan error, 1)
	end := func(err error) {
		b.mu.Lock()
		r.fetched()
		b.mu.Unlock()
		done <- err
	}
	if !r.startFetch(buffer[:length], offset, end) {
		r.m.workers.start(func() { end(r.fetch(buffer[:length], offset)) })
	}
	return r.m.filled(d, done, buffer, length)
}

// filled waits until the first length bytes of a buffer are filled. It frees the buffer when nothing uses it any more.
func (m *mount) filled(d *deadline, done <-chan error, buffer []byte, length int) (fuse.ReadResult, syscall.Errno) {
	err, errno := wait(d, done)
	if errno != 0 {
		go func() {
			<-done //nolint:errcheck // nothing waits for it any more
			m.buffers.put(buffer)
		}()
		return nil, errno
	}
	if err != nil {
		m.buffers.put(buffer)
		return nil, m.errno(err)
	}
	return &result{buffers: m.buffers, slices: [][]byte{buffer[:length]}}, 0
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
	finish := func(err error) {
		r.m.link.end(part, err == nil)
		r.noteError(err)
		end(err)
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
	return r.closed != nil
}

// fetched notes the end of a fetch. buffers.mu is held.
func (r *reader) fetched() {
	if r.fetches--; r.fetches == 0 && r.closed != nil {
		close(r.closed)
	}
}

// close drops all blocks, and returns when no fetch is under way.
func (r *reader) close() {
	b := r.m.buffers
	b.mu.Lock()
	closed := make(chan struct{})
	r.closed = closed
	if r.fetches == 0 {
		close(closed)
	}
	for _, k := range r.blocks {
		b.drop(k)
	}
	b.mu.Unlock()
	<-closed
}

// result is an answer whose bytes go to the kernel without a copy: those of blocks, or of a buffer of its own.
type result struct {
	buffers *buffers
	blocks  []*block // nil if it has a buffer of its own
	slices  [][]byte
}

func (r *result) Slices() ([][]byte, fuse.Status) { return r.slices, fuse.OK }

func (r *result) Size() int {
	size := 0
	for _, slice := range r.slices {
		size += len(slice)
	}
	return size
}

func (r *result) Bytes([]byte) ([]byte, fuse.Status) { return slices.Concat(r.slices...), fuse.OK }

func (r *result) Done() {
	if r.blocks == nil {
		r.buffers.put(r.slices[0])
		return
	}
	r.buffers.mu.Lock()
	defer r.buffers.mu.Unlock()
	r.buffers.unuse(r.blocks)
}
