package transfer

import (
	"context"
	"errors"
	"path"
	"sync"

	"culvert/fileservice"
)

// parcelsAtOnce is how many calls for small files there are at once. A delay of 200 ms lets 64 files of each through
// five times a second. Three times as many may have files open, which wait for a sync.
const (
	parcelsAtOnce = 8
	parcelsOpen   = 3 * parcelsAtOnce
)

// parcel is small files of one directory, which are moved by one call.
type parcel struct {
	items []*item
	sums  []fileservice.Sum // of those without an error
	errs  []error           // what has come of each
}

// smallMover is one direction of a transfer, for small files.
type smallMover interface {
	// moveSmall moves the files, and gives what is left to do on the disk, or nil. That calls closed when no file is
	// open any more.
	moveSmall(ctx context.Context, b *parcel) (finish func(closed func()))
}

// takeParcel takes small files of the directory of one that is in the queue. mu is held.
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

// runParcel moves small files, and leaves it to another goroutine to finish them.
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

// settleParcel ends the files of a parcel. Those that have met the same broken connection wait for another together.
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

// fail is for all files that have no error.
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
