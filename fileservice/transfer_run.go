package fileservice

import (
	"context"
	"errors"
	"sync"
	"time"
)

// How much a transfer has under way. A delay of 200 ms lets 48 small files through 200 times a second.
const (
	transferWorkers = 48
	largeBytes      = 64 << 10 // a file of more takes one of the buffers, of which there are a few for each connection
	buffersPerLink  = 2
	finishesAtOnce  = 128 // files that wait for the disk, or for the other end to have synced them
	queueLength     = 512 // files that were found, and not begun
	maxRange        = 64  // blocks of one call
)

// mover is one direction of a transfer, for one file. An errPresent of begin says that the file is there.
type mover interface {
	// begin finds out which blocks are missing.
	begin(ctx context.Context) (missing []BlockRange, err error)

	// move transfers consecutive blocks, and calls moved after each. The buffer is that of a block, or of the file if
	// that is smaller.
	move(ctx context.Context, blocks BlockRange, buffer []byte, moved func(bytes int64)) error

	// finish makes the file complete, and gives the root of its hashes.
	finish(ctx context.Context) (Sum, error)

	// end gives up what begin has taken. If drop is set, what is there is of no use any more.
	end(drop bool) error

	// refresh looks at the source again, which has changed, and gives its size.
	refresh(ctx context.Context) (size int64, err error)
}

var errPresent = errors.New("fileservice: it is there already")

// transfer is a Pull or a Push under way.
//
//	walkers ──▶ queue ──▶ begin ──▶ ranges ──▶ move, by up to 48 workers ──▶ finish, up to 128 at once
//	              ▲                                                           │
//	              └────────── the source has changed, or try again ◀──────────┘
type transfer struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	client   *Client
	config   TransferConfig
	progress *Progress

	mu       sync.Mutex
	changed  *sync.Cond // any of what follows
	queue    []*item    // found, to be begun
	begun    []*item    // have blocks that nobody moves yet
	unended  int        // items that were found, and are not done
	walking  bool       // more will be found
	large    int        // workers that have a buffer
	buffers  [][]byte   // those that nobody has
	perCall  int64      // blocks, as bandwidth and delay make good
	result   Result
	finishes chan struct{}
	finisher sync.WaitGroup

	asking   sync.Mutex // for Retry
	notified time.Time  // of waiting
	telling  sync.Mutex // for Notify
}

// item is one file.
type item struct {
	mover mover
	name  string // for people
	size  int64

	// By transfer.mu, or by who begins or ends it.
	ranges   []BlockRange
	moving   int
	err      error
	afresh   int   // times it has changed
	failures int   // to reach the other end, since blocks were moved
	done     int64 // bytes that are there
	resumed  int64 // bytes that were there when it was begun first
	known    bool  // resumed is set
	begun    bool
	refusals int // of what was begun, since blocks were moved
}

func newTransfer(ctx context.Context, client *Client, config TransferConfig) *transfer {
	t := &transfer{
		client: client, config: config, progress: config.Progress, walking: true, perCall: 4,
		finishes: make(chan struct{}, finishesAtOnce),
	}
	if t.progress == nil {
		t.progress = &Progress{}
	}
	t.changed = sync.NewCond(&t.mu)
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	return t
}

// run transfers what walk finds, of which it calls add.
func (t *transfer) run(walk func() error) (Result, error) {
	start := time.Now()
	unhook := context.AfterFunc(t.ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.changed.Broadcast()
	})
	defer unhook()
	var workers sync.WaitGroup
	for range transferWorkers {
		workers.Go(t.work)
	}
	if err := walk(); err != nil {
		t.cancel(err)
	}
	t.progress.listed.Store(true)
	t.mu.Lock()
	t.walking = false
	t.changed.Broadcast()
	t.mu.Unlock()
	workers.Wait()
	t.finisher.Wait()
	for _, it := range t.begun {
		_ = it.mover.end(false) // there is an error before it
	}
	err := context.Cause(t.ctx)
	t.cancel(nil)

	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Duration = time.Since(start)
	if err == nil {
		err = t.result.fault()
	}
	return t.result, err
}

// add puts a file into the queue, and waits while that is full.
func (t *transfer) add(it *item) {
	t.progress.files.Add(1)
	t.progress.bytes.Add(it.size)
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.queue) >= queueLength && t.ctx.Err() == nil {
		t.changed.Wait()
	}
	t.queue = append(t.queue, it)
	t.unended++
	t.changed.Broadcast()
}

// work is a worker.
func (t *transfer) work() {
	for {
		it, blocks, buffer := t.next()
		switch {
		case it == nil:
			return
		case blocks.Count == 0:
			t.begin(it, buffer)
		default:
			t.move(it, blocks, buffer)
		}
		t.giveBack(buffer)
	}
}

// next gives a worker something to do: blocks of a file that is begun, or a file to begin, and the buffer for it. It is
// nil when there will be nothing any more.
func (t *transfer) next() (*item, BlockRange, []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		switch {
		case t.ctx.Err() != nil, !t.walking && t.unended == 0:
			return nil, BlockRange{}, nil
		case len(t.begun) > 0 && t.large < t.mostLarge():
			it, blocks := t.takeRange()
			return it, blocks, t.takeBuffer(it.size)
		}
		for i, it := range t.queue {
			if it.size > largeBytes && (t.large >= t.mostLarge() || len(t.begun) > 0) {
				continue
			}
			t.queue = append(t.queue[:i], t.queue[i+1:]...)
			t.changed.Broadcast()
			return it, BlockRange{}, t.takeBuffer(it.size)
		}
		t.changed.Wait()
	}
}

func (t *transfer) mostLarge() int { return buffersPerLink * t.client.config.Connections }

// takeRange takes blocks of the first file that is begun: many in a call, fewer when there are few left, so that all
// workers end at the same time. mu is held.
func (t *transfer) takeRange() (*item, BlockRange) {
	it := t.begun[0]
	left := int64(0)
	for _, r := range it.ranges {
		left += r.Count
	}
	blocks := it.ranges[0]
	blocks.Count = min(blocks.Count, t.perCall, max(1, left/int64(2*t.mostLarge())))
	it.ranges[0].First += blocks.Count
	it.ranges[0].Count -= blocks.Count
	if it.ranges[0].Count == 0 {
		it.ranges = it.ranges[1:]
	}
	if len(it.ranges) == 0 {
		t.begun = t.begun[1:]
	}
	it.moving++
	return it, blocks
}

// takeBuffer gives a buffer for a file. mu is held.
func (t *transfer) takeBuffer(size int64) []byte {
	if size <= largeBytes {
		return make([]byte, size)
	}
	t.large++
	if last := len(t.buffers) - 1; last >= 0 {
		buffer := t.buffers[last]
		t.buffers = t.buffers[:last]
		return buffer
	}
	return make([]byte, BlockSize)
}

func (t *transfer) giveBack(buffer []byte) {
	if len(buffer) <= largeBytes {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.large--
	t.buffers = append(t.buffers, buffer)
	t.changed.Broadcast()
}

// begin begins a file, and moves it at once if it is small.
func (t *transfer) begin(it *item, buffer []byte) {
	missing, err := it.mover.begin(t.ctx)
	if err != nil {
		it.err = err
		t.finish(it)
		return
	}
	left := int64(0)
	for _, r := range missing {
		left += min(r.Count*BlockSize, it.size-r.First*BlockSize)
	}
	it.done, it.begun = it.size-left, true
	if !it.known {
		it.known, it.resumed = true, it.done
	}
	t.progress.bytesDone.Add(it.done)
	t.progress.activate(it)
	t.mu.Lock()
	switch {
	case left == 0:
		t.mu.Unlock()
		t.finish(it)
		return
	case Blocks(it.size) > 1:
		it.ranges = missing
		t.begun = append(t.begun, it)
		t.changed.Broadcast()
		t.mu.Unlock()
		return
	}
	it.moving++
	t.mu.Unlock()
	t.move(it, missing[0], buffer)
}

// move moves blocks of a file. Who moves the last ones ends it.
func (t *transfer) move(it *item, blocks BlockRange, buffer []byte) {
	start := time.Now()
	first := time.Duration(0)
	err := it.mover.move(t.ctx, blocks, buffer, func(bytes int64) {
		if first == 0 {
			first = time.Since(start)
		}
		t.progress.move(it, bytes)
		t.mu.Lock()
		defer t.mu.Unlock()
		it.done += bytes
		it.failures, it.refusals = 0, 0
		t.result.Bytes += bytes
	})
	t.mu.Lock()
	if err == nil && blocks.Count == t.perCall {
		t.adapt(first, time.Since(start))
	}
	if err != nil && it.err == nil {
		it.err = err
		if it.ranges != nil {
			it.ranges = nil
			t.begun = without(t.begun, it)
		}
	}
	it.moving--
	last := it.moving == 0 && len(it.ranges) == 0
	t.mu.Unlock()
	if last {
		t.finish(it)
	}
}

// adapt lets calls ask for as much as makes the wait for their first block short beside the rest, but not for more than
// comes in two seconds. mu is held.
func (t *transfer) adapt(first, all time.Duration) {
	switch {
	case all < 4*first:
		t.perCall = min(2*t.perCall, maxRange)
	case all > 2*time.Second:
		t.perCall = max(t.perCall/2, 1)
	}
}

func without(items []*item, it *item) []*item {
	kept := items[:0]
	for _, other := range items {
		if other != it {
			kept = append(kept, other)
		}
	}
	return kept
}

// finish ends a file, while the worker goes on with another.
func (t *transfer) finish(it *item) {
	t.finishes <- struct{}{}
	t.finisher.Go(func() {
		defer func() { <-t.finishes }()
		root, err := Sum{}, it.err
		if err == nil {
			root, err = it.mover.finish(t.ctx)
		}
		drop := errors.Is(err, ErrChanged)
		if ending := it.mover.end(drop); err == nil || err == errPresent {
			err = errors.Join(err, ending)
		}
		t.progress.deactivate(it)
		if err != nil && err != errPresent {
			t.progress.bytesDone.Add(-it.done)
			it.done = 0
		}
		if err = t.settle(it, root, err); err != nil {
			t.cancel(err)
		}
	})
}
