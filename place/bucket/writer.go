package bucket

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"culvert/place"
)

// An object of 5 TiB has less than 10,000 parts even if the first have 5 MiB. The sizes are few, so that the memory of
// parts is used again, and equal for longer than most files are.
const (
	equalParts   = 3200 // have the first size
	partsPerSize = 640  // have each of the following sizes
)

// partSize returns the size of a part, whose number counts from 1.
func (b *bucket) partSize(number int) int64 {
	sizes := max(0, number-equalParts+partsPerSize-1) / partsPerSize
	return min(b.PartSize<<min(sizes, 10), maxPartSize) // 10 make the maximum of any first size
}

// file is a file under construction.
type file struct {
	bucket *bucket
	ctx    context.Context // ends with that of Create, and with Discard
	cancel context.CancelCauseFunc
	outer  context.Context // that of Create
	name   string
	key    string
	mark   string
	facts  map[string]string // metadata of the object; complete before the first request
	create bool
	closed bool
	upload upload

	committed bool

	part    []byte // being filled
	size    int64  // of the next part
	written int64  // with part
	parts   int    // sent, or being sent

	previous chan struct{} // closed when the part before was sent; nil before the first

	requests sync.WaitGroup // in progress
	mu       sync.Mutex
	aborted  bool  // no request may begin
	failed   error // of the first part that could not be sent
	abort    func() error
	unwatch  func() bool
}

func (b *bucket) create(ctx context.Context, name string, create bool) (place.File, error) {
	key, err := b.fileKey("create", name)
	if err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	f := &file{bucket: b, outer: ctx, name: name, key: key, create: create, size: b.partSize(1)}
	if create {
		if err := f.checkFree(); err != nil {
			return nil, named("create", name, err)
		}
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	f.mark = hex.EncodeToString(random[:])
	f.facts = map[string]string{markKey: f.mark}
	f.upload = b.store.upload(key, create, f.facts)
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	f.abort = sync.OnceValue(f.abortUpload)
	// An upload must not stay behind a writer that hangs.
	f.unwatch = context.AfterFunc(ctx, func() { _ = f.abort() }) // Discard returns the error
	return f, nil
}

// SetSourceTime is called by [place.SetSourceTime].
func (f *file) SetSourceTime(modified time.Time) {
	f.facts[timeKey] = modified.UTC().Format(time.RFC3339Nano)
}

// A file takes these requests, and each proves what no other does:
//
//	HEAD before  the name is free, before its content is sent; some stores ignore the condition of the last request
//	PUT          a small file: the store has all of it, by its checksum, under a name that was still free
//	begin        a large file: the name of the upload, by which it can be ended
//	parts        the store has each of them, by its checksum
//	complete     the store has the object, by its checksum, under a name that was still free
//	HEAD after   the object is there, has the size, and is that of this file: only if the answer of the last request
//	             has no checksum of the object that says so
//
// One listing of unfinished uploads serves all large files of a place for an hour.

// checkFree returns an error if an object has the name.
func (f *file) checkFree() error {
	switch _, err := f.bucket.describe(f.outer, f.key, false); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoBucket):
		return err
	}
	return nil
}

func (f *file) Write(p []byte) (n int, err error) {
	if f.closed {
		return 0, named("write", f.name, fs.ErrClosed)
	}
	for {
		if err := f.failure(); err != nil {
			return n, err
		}
		if len(p) == n {
			return n, nil
		}
		if int64(len(f.part)) == f.size {
			if err := f.send(); err != nil {
				return n, f.fail("write", err)
			}
		}
		f.grow(len(p) - n)
		room := min(len(p)-n, cap(f.part)-len(f.part), int(f.size)-len(f.part))
		f.part = append(f.part, p[n:n+room]...)
		f.written += int64(room)
		n += room
	}
}

// maxSmall is up to which size the memory of a file grows with it, since most files are small.
const maxSmall = 1 << 20

// grow makes room for at least a byte.
func (f *file) grow(wanted int) {
	if len(f.part) < cap(f.part) {
		return
	}
	if size := max(2*cap(f.part), len(f.part)+wanted, 64<<10); f.parts == 0 && size <= maxSmall {
		f.part = append(make([]byte, 0, size), f.part...)
		return
	}
	f.part = append(f.bucket.memory(int(f.size)), f.part...)
}

// memory returns an empty slice for a part.
func (b *bucket) memory(size int) []byte {
	for {
		select {
		case p := <-b.free:
			if cap(p) >= size {
				return p[:0]
			}
		default:
			return make([]byte, 0, size)
		}
	}
}

// release keeps the memory of a part for the next one.
func (b *bucket) release(p []byte) {
	if int64(cap(p)) < b.PartSize {
		return
	}
	select {
	case b.free <- p:
	default:
	}
}

// failure returns why the file cannot be written any more.
func (f *file) failure() error {
	if err := context.Cause(f.outer); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// fail keeps the first error, and ends the requests of the other parts.
func (f *file) fail(op string, err error) error {
	cause := context.Cause(f.outer)
	switch {
	case cause != nil:
		err = cause
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNoBucket): // of a file that is being made
		err = named(op, f.name, errDropped)
	default:
		err = named(op, f.name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
		f.cancel(err)
	}
	return f.failed
}

// errDropped: somebody has aborted the upload, or the store removes all that are not finished soon.
var errDropped = fmt.Errorf("%w: the store has dropped the parts that it had received", place.ErrUnreachable)

// enter begins a request, which f.requests.Done ends. It returns an error if the upload is being aborted.
func (f *file) enter() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.aborted {
		return context.Cause(f.ctx)
	}
	f.requests.Add(1)
	return nil
}

// send sends the part while the next one is filled. It waits while the place sends as many as it may.
func (f *file) send() error {
	if err := f.enter(); err != nil {
		return err
	}
	sent := false
	defer func() {
		if !sent {
			f.requests.Done()
		}
	}()
	if f.parts == 0 {
		if err := f.bucket.retry(f.ctx, f.upload.begin); err != nil {
			return err
		}
	}
	f.parts++
	number, data := f.parts, f.part
	f.part, f.size = nil, f.bucket.partSize(f.parts+1)
	previous, done := f.previous, make(chan struct{})
	f.previous = done
	if f.upload.inOrder() && previous != nil {
		<-previous // which the end of f.ctx ends
	}
	select {
	case f.bucket.sending <- struct{}{}:
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
	sent = true
	go func() {
		defer f.requests.Done()
		defer close(done)
		err := f.bucket.retry(f.ctx, func(ctx context.Context) error { return f.upload.part(ctx, number, data) })
		<-f.bucket.sending
		if err != nil {
			_ = f.fail("write", err) // Write and Commit return it
			return                   // the library may still read the data
		}
		f.bucket.release(data)
	}()
	return nil
}

func (f *file) Commit() error {
	if f.closed {
		return named("commit", f.name, fs.ErrClosed)
	}
	err := f.failure()
	if err == nil {
		err = f.commit()
	}
	if err != nil {
		err = f.fail("commit", err)
		return errors.Join(err, f.Discard())
	}
	f.closed, f.committed = true, true
	f.unwatch()
	f.cancel(fs.ErrClosed)
	f.bucket.release(f.part)
	f.part = nil
	return nil
}

func (f *file) commit() error {
	if f.parts == 0 {
		data := f.part
		if len(data) > maxSmall { // it counts as a part
			select {
			case f.bucket.sending <- struct{}{}:
				defer func() { <-f.bucket.sending }()
			case <-f.ctx.Done():
				return context.Cause(f.ctx)
			}
		}
		if err := f.complete(func(ctx context.Context) error { return f.upload.put(ctx, data) }); err != nil {
			return err
		}
		return f.verify()
	}
	if len(f.part) > 0 {
		if err := f.send(); err != nil {
			return err
		}
	}
	f.requests.Wait()
	if err := f.failure(); err != nil {
		return err
	}
	if err := f.complete(func(ctx context.Context) error { return f.upload.complete(ctx, f.parts) }); err != nil {
		return err
	}
	return f.verify()
}

// complete makes the object appear. The answer to a try that has succeeded may be lost, and the next one then fails
// because of the object that is there, or of the upload that is not.
func (f *file) complete(attempt func(context.Context) error) error {
	if err := f.enter(); err != nil {
		return err
	}
	defer f.requests.Done()
	conflict := false
	var damaged error // of an object that is not what was written
	err := f.bucket.retry(f.ctx, func(ctx context.Context) error {
		if damaged != nil && f.parts > 0 {
			return damaged // the upload has ended
		}
		err := attempt(ctx)
		if f.withoutCondition(err) {
			if err := f.checkFree(); err != nil {
				return err
			}
			err = attempt(ctx)
		}
		conflict = isConflict(err)
		if errors.Is(err, place.ErrIntegrity) {
			err = f.removeDamaged(err)
			damaged = err
		}
		return err
	})
	if err == nil || !conflict && !isNotFound(err) {
		return err
	}
	switch mine, exists := f.isMine(); {
	case mine:
		return damaged
	case exists && f.create:
		return fs.ErrExist
	}
	return err
}

// withoutCondition reports whether the store does not know the condition under which a file is created. It will not be
// sent again.
func (f *file) withoutCondition(err error) bool {
	u, can := f.upload.(interface{ withoutCondition() })
	a, answered := answerOf(err)
	if !can || !f.create || !answered || a.status != http.StatusNotImplemented {
		return false
	}
	u.withoutCondition()
	return true
}

// isMine reports whether the object is there and whether this file has made it.
func (f *file) isMine() (mine, exists bool) {
	about, err := f.bucket.describe(f.outer, f.key, false)
	if err != nil {
		return false, false
	}
	return about.metadata[markKey] == f.mark, true
}

// Discard implements [place.File].
func (f *file) Discard() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.unwatch()
	f.part = nil
	return f.abort()
}

// lastPatience is how long a store that could not be reached for Config.Timeout is asked to end an upload.
const lastPatience = 5 * time.Second

// abortUpload ends the requests, then the upload.
func (f *file) abortUpload() error {
	f.cancel(fs.ErrClosed)
	f.mu.Lock()
	f.aborted = true
	f.mu.Unlock()
	f.requests.Wait()
	ctx := context.WithoutCancel(f.ctx)
	if errors.Is(f.failure(), place.ErrUnreachable) { // no request changes that any more
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, min(f.bucket.Timeout, lastPatience), errSilent)
		defer cancel()
	}
	return named("discard", f.name, f.bucket.retry(ctx, f.upload.abort))
}
