package transfer

import (
	"context"
	"errors"
	"path"
	"sync"

	"culvert/fileservice"
	"culvert/place"
)

// batchesAtOnce is the number of concurrent calls for small files. With a delay of 200 ms, each moves up to 64 files
// five times a second. batchesOpen bounds the batches with open files, including those that wait for a sync.
const (
	batchesAtOnce = 8
	batchesOpen   = 3 * batchesAtOnce
)

// hasRoomFor reports whether another batch may be moved, with a small file. After failures to reach the server there
// are fewer at once: if connections do not last, fewer files have to share one. mu is held.
func (t *transfer) hasRoomFor(it *item) bool {
	return t.batches < max(1, batchesAtOnce>>it.failures) && t.openBatches < batchesOpen
}

// batch is a set of small files of one directory that one call moves.
type batch struct {
	items []*item
	errs  []error // of each item
}

// smallMover moves small files in one direction.
type smallMover interface {
	// moveSmall moves the files, and returns the remaining disk work, or nil. That work calls closed when no file is
	// open any more.
	moveSmall(ctx context.Context, b *batch) (finish func(closed func()))
}

// takeBatch removes small files of the directory of queue[first] from the queue, fewer after each failure to reach the
// server. mu is held.
func (t *transfer) takeBatch(first int) *batch {
	dir := path.Dir(t.queue[first].name)
	most := max(1, fileservice.MaxSmallFiles>>(3*t.queue[first].failures)) // a connection may not last for more
	b := &batch{}
	kept := t.queue[:first]
	for _, it := range t.queue[first:] {
		isSmall := it.size <= fileservice.SmallFileSize
		if len(b.items) < most && isSmall && path.Dir(it.name) == dir {
			b.items = append(b.items, it)
		} else {
			kept = append(kept, it)
		}
	}
	clear(t.queue[len(kept):])
	t.queue = kept
	b.errs = make([]error, len(b.items))
	t.batches++
	t.openBatches++
	t.changed.Broadcast()
	return b
}

// runBatch moves small files, and lets another goroutine finish them.
func (t *transfer) runBatch(b *batch) {
	for _, it := range b.items {
		it.known, it.begun = true, true
	}
	finish := t.small.moveSmall(t.ctx, b)
	t.mu.Lock()
	t.batches--
	t.changed.Broadcast()
	t.mu.Unlock()
	closed := sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.openBatches--
		t.changed.Broadcast()
	})
	t.later(func() {
		if finish != nil {
			finish(closed)
		}
		closed()
		t.settleBatch(b)
	})
}

// arrived counts the bytes of a small file.
func (t *transfer) arrived(it *item) {
	t.progress.move(it, it.size)
	t.mu.Lock()
	defer t.mu.Unlock()
	it.done = it.size
	it.failures, it.refusals = 0, 0
	t.result.Bytes += it.size
}

// settleBatch settles the files of a batch. Those that the same broken connection stopped wait together.
func (t *transfer) settleBatch(b *batch) {
	var broken []*item
	var cause error
	failures := 0
	for i, it := range b.items {
		t.uncount(it, b.errs[i])
		if errors.Is(b.errs[i], place.ErrUnreachable) && !isFatal(b.errs[i]) && t.ctx.Err() == nil {
			it.failures++
			failures, cause = max(failures, it.failures), b.errs[i]
			broken = append(broken, it)
			continue
		}
		if err := t.settle(it, b.errs[i]); err != nil {
			t.cancel(err)
		}
	}
	switch {
	case len(broken) == 0:
	case t.mayRetry(cause, failures):
		t.again(broken...)
	default:
		t.cancel(cause)
	}
}

// missing returns the files without an error, and their indices.
func (b *batch) missing() (files []fileservice.SmallFile, which []int) {
	for i, it := range b.items {
		if b.errs[i] == nil {
			files, which = append(files, it.mover.small()), append(which, i)
		}
	}
	return files, which
}

// fail sets err for all files without an error, unless err is nil.
func (b *batch) fail(err error) {
	for i := range b.errs {
		if err != nil && (b.errs[i] == nil || b.errs[i] == errPresent) {
			b.errs[i] = err
		}
	}
}
