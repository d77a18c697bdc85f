package transfer

import (
	"context"
	"errors"
	"path"
	"sync"

	"culvert/fileservice"
)

// parcelsAtOnce is the number of concurrent calls for small files. With a delay of 200 ms, each transfers 64 files five
// times a second. Three times as many may have open files that wait for a sync.
const (
	parcelsAtOnce = 8
	parcelsOpen   = 3 * parcelsAtOnce
)

// parcel is a group of small files of one directory that one call moves.
type parcel struct {
	items []*item
	sums  []fileservice.Sum // of the files without an error
	errs  []error           // of each file
}

// smallMover transfers small files in one direction.
type smallMover interface {
	// moveSmall moves the files. It returns a function that does the remaining work on the disk, or nil. That function
	// calls closed when no file is open any more.
	moveSmall(ctx context.Context, b *parcel) (finish func(closed func()))
}

// takeParcel takes a small file from the queue, with others of its directory. mu is held.
func (t *transfer) takeParcel(first int) *parcel {
	dir := path.Dir(t.queue[first].name)
	b := &parcel{}
	kept := t.queue[:first]
	for _, it := range t.queue[first:] {
		if len(b.items) < fileservice.MaxSmallFiles && it.size <= fileservice.SmallFileSize && path.Dir(it.name) == dir {
			b.items = append(b.items, it)
		} else {
			kept = append(kept, it)
		}
	}
	clear(t.queue[len(kept):])
	t.queue = kept
	b.sums, b.errs = make([]fileservice.Sum, len(b.items)), make([]error, len(b.items))
	t.parcels++
	t.openParcels++
	t.changed.Broadcast()
	return b
}

// runParcel moves small files; another goroutine finishes them.
func (t *transfer) runParcel(b *parcel) {
	for _, it := range b.items {
		it.known, it.begun = true, true
	}
	finish := t.small.moveSmall(t.ctx, b)
	t.mu.Lock()
	t.parcels--
	t.changed.Broadcast()
	t.mu.Unlock()
	closed := sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.openParcels--
		t.changed.Broadcast()
	})
	t.later(func() {
		if finish != nil {
			finish(closed)
		}
		closed()
		t.settleParcel(b)
	})
}

// arrived counts the bytes of a file of a parcel.
func (t *transfer) arrived(it *item) {
	t.progress.move(it, it.size)
	t.mu.Lock()
	defer t.mu.Unlock()
	it.done = it.size
	it.failures, it.refusals = 0, 0
	t.result.Bytes += it.size
}

// settleParcel ends the files of a parcel. Files that failed by the same broken connection wait for another together.
func (t *transfer) settleParcel(b *parcel) {
	var broken []*item
	var cause error
	failures := 0
	for i, it := range b.items {
		t.uncount(it, b.errs[i])
		if errors.Is(b.errs[i], fileservice.ErrUnreachable) && !isFatal(b.errs[i]) && t.ctx.Err() == nil {
			it.failures++
			failures, cause = max(failures, it.failures), b.errs[i]
			broken = append(broken, it)
			continue
		}
		if err := t.settle(it, b.sums[i], b.errs[i]); err != nil {
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

// fail sets the error of all files that have none.
func (b *parcel) fail(err error) {
	if err == nil {
		return
	}
	for i := range b.errs {
		if b.errs[i] == nil || b.errs[i] == errPresent {
			b.errs[i] = err
		}
	}
}
