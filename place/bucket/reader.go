package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"culvert/internal/readahead"
	"culvert/place"
)

// The size of ranges is that of the parts and blocks in which most stores keep objects. Some read a whole block for any
// range of it.
const (
	firstRange = 1 << 20
	rangeSize  = 8 << 20

	// leastProgress is what a request has to bring if it fails, to be more than another failure. With less, a range
	// could take hours if each request for the rest of it ended in the same way.
	leastProgress = 64 << 10
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

	ahead *readahead.Reader // nil before the first Read
}

var (
	_ io.ReaderAt = (*object)(nil)
	_ io.WriterTo = (*object)(nil)
)

func newObject(b *bucket, name string, info *objectInfo) *object {
	o := &object{bucket: b, name: name, key: b.prefix + name, info: info}
	o.ctx, o.cancel = context.WithCancelCause(b.ctx)
	return o
}

func (o *object) Stat() (fs.FileInfo, error) { return o.info, nil }

// SourceTime is called by [place.SourceTimeOf].
func (o *object) SourceTime() time.Time {
	modified, err := time.Parse(time.RFC3339Nano, o.info.about.metadata[timeKey])
	if err != nil {
		return time.Time{} // it has none, or one of another program
	}
	return modified
}

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

// sequence returns the reader of the whole object.
func (o *object) sequence() (*readahead.Reader, error) {
	if cause := context.Cause(o.ctx); cause != nil {
		return nil, named("read", o.name, cause)
	}
	if o.ahead == nil {
		config := readahead.Config{First: firstRange, Size: rangeSize, Parallel: o.bucket.Parallel}
		o.ahead = config.NewReader(o, 0, o.info.size)
	}
	return o.ahead, nil
}

func (o *object) Read(p []byte) (int, error) {
	r, err := o.sequence()
	if err != nil || len(p) == 0 {
		return 0, err
	}
	return r.Read(p)
}

// WriteTo implements [io.WriterTo].
func (o *object) WriteTo(w io.Writer) (int64, error) {
	r, err := o.sequence()
	if err != nil {
		return 0, err
	}
	return r.WriteTo(w)
}

func (o *object) Close() error {
	if o.closed {
		return named("close", o.name, fs.ErrClosed)
	}
	o.closed = true
	o.cancel(fs.ErrClosed)
	if o.ahead != nil {
		o.ahead.Wait()
	}
	return nil
}

// fetch fills p with the range at off, which is not empty unless p is.
func (b *bucket) fetch(ctx context.Context, key, version string, p []byte, off int64) (n int, err error) {
	tries := tries{timeout: b.Timeout, clock: b.clock}
	for n < len(p) {
		got, err := b.fetchOnce(ctx, key, version, p[n:], off+int64(n))
		n += got
		if got >= leastProgress {
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
	answer, err := b.store.read(ctx, key, version, off, int64(len(p)))
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.body.Close() }() // all of it has arrived, or another error has
	if err := answer.check(version, off, int64(len(p))); err != nil {
		return 0, err
	}
	n, err = io.ReadFull(answer.body, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return n, fmt.Errorf("%w: the store has sent a part of a range", io.ErrUnexpectedEOF)
	}
	return n, err
}
