package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync"

	"gocloud.dev/blob"

	"culvert/place"
)

const (
	firstRange = 1 << 20
	maxRange   = 4 << 20
)

// object is an open object. ReadAt may be called concurrently, the other methods not.
type object struct {
	bucket *bucket
	name   string
	key    string
	info   *objectInfo
	closed bool

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc

	ahead   []*segment // requested, in order
	reading sync.WaitGroup
	next    int64  // where the next range begins
	ranges  int    // requested
	rest    []byte // what was received and not yet read
	used    []byte // memory for the next range
	err     error  // of Read
}

var (
	_ io.ReaderAt = (*object)(nil)
	_ io.WriterTo = (*object)(nil)
)

// segment is a range that was requested ahead.
type segment struct {
	data []byte
	done chan struct{}
	err  error // valid after done
}

func newObject(b *bucket, name string, info *objectInfo) *object {
	o := &object{bucket: b, name: name, key: b.prefix + name, info: info}
	o.ctx, o.cancel = context.WithCancelCause(b.ctx)
	return o
}

func (o *object) Stat() (fs.FileInfo, error) { return o.info, nil }

func (o *object) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, named("read", o.name, fs.ErrInvalid)
	case context.Cause(o.ctx) != nil:
		return 0, named("read", o.name, context.Cause(o.ctx))
	case off >= o.info.size:
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	part := p[:min(int64(len(p)), o.info.size-off)]
	n, err := o.bucket.fetch(o.ctx, o.key, o.info.version, part, off)
	if err != nil {
		return n, named("read", o.name, err)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (o *object) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := o.fill(); err != nil {
		return 0, err
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// WriteTo implements [io.WriterTo].
func (o *object) WriteTo(w io.Writer) (written int64, err error) {
	for {
		if err := o.fill(); err == io.EOF {
			return written, nil
		} else if err != nil {
			return written, err
		}
		n, err := w.Write(o.rest)
		written += int64(n)
		o.rest = o.rest[n:]
		if err != nil {
			return written, err
		}
	}
}

// fill waits for the next range if everything has been read. It returns io.EOF at the end.
func (o *object) fill() error {
	if cause := context.Cause(o.ctx); cause != nil {
		return named("read", o.name, cause)
	}
	if len(o.rest) > 0 || o.err != nil {
		return o.err
	}
	o.readAhead()
	if len(o.ahead) == 0 {
		o.err = io.EOF
		return o.err
	}
	first := o.ahead[0]
	<-first.done
	if first.err != nil {
		o.err = named("read", o.name, first.err)
		return o.err
	}
	o.ahead = o.ahead[1:]
	o.rest, o.used = first.data, first.data
	return nil
}

// readAhead requests ranges: one more each time, so that the beginning of a file costs little.
func (o *object) readAhead() {
	count := min(o.ranges, o.bucket.Parallel) + 1
	for len(o.ahead) < count && o.next < o.info.size {
		size := int64(firstRange)
		if o.ranges > 0 {
			size = maxRange
		}
		size = min(size, o.info.size-o.next)
		s := &segment{done: make(chan struct{})}
		if int64(cap(o.used)) >= size {
			s.data, o.used = o.used[:size], nil
		} else {
			s.data = make([]byte, size)
		}
		off := o.next
		o.next += size
		o.ranges++
		o.ahead = append(o.ahead, s)
		o.reading.Go(func() {
			defer close(s.done)
			_, s.err = o.bucket.fetch(o.ctx, o.key, o.info.version, s.data, off)
		})
	}
}

func (o *object) Close() error {
	if o.closed {
		return named("close", o.name, fs.ErrClosed)
	}
	o.closed = true
	o.cancel(fs.ErrClosed)
	o.reading.Wait()
	return nil
}

// fetch fills p with the range at off, which is not empty unless p is.
func (b *bucket) fetch(ctx context.Context, key, version string, p []byte, off int64) (n int, err error) {
	tries := tries{timeout: b.Timeout}
	for n < len(p) {
		got, err := b.fetchOnce(ctx, key, version, p[n:], off+int64(n))
		n += got
		if got > 0 {
			tries.progress()
		}
		if err == nil {
			continue
		}
		a, answered := answerOf(err)
		if answered && (a.status == http.StatusPreconditionFailed || a.status == http.StatusNotFound) {
			return n, place.ErrChanged
		}
		if !tries.again(ctx, err) {
			return n, translate(ctx, err)
		}
	}
	return n, nil
}

// fetchOnce sends one request for a range. It may return an error after some bytes of it.
func (b *bucket) fetchOnce(ctx context.Context, key, version string, p []byte, off int64) (n int, err error) {
	r, err := b.blobs.NewRangeReader(ctx, key, off, int64(len(p)), &blob.ReaderOptions{
		BeforeRead: func(as func(any) bool) error { return b.store.pin(version, as) },
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }() // all of it has arrived, or another error has
	if err := b.store.check(r, version, off, int64(len(p))); err != nil {
		return 0, err
	}
	n, err = io.ReadFull(r, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return n, fmt.Errorf("%w: the store has sent a part of a range", io.ErrUnexpectedEOF)
	}
	return n, err
}
