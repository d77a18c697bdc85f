package transfer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
)

// How much a transfer has under way.
const (
	workerCount    = 48
	finishesAtOnce = 128 // files that wait for the disk, or for the other end to have synced them
	queueLength    = 512 // files that were found, and not begun
	minRange       = 4   // blocks of one call, if there are as many left for each worker
	maxRange       = 64
	leastShare     = 4 // of the blocks of a call, that it has if there are few left
)

// mover is one direction of a transfer, for one file that is not small. An errPresent of begin says that the file is
// there.
type mover interface {
	// begin finds out which blocks are missing.
	begin(ctx context.Context) (missing []fileservice.BlockRange, err error)

	// move transfers consecutive blocks, and calls moved after each. The buffer is that of a block.
	move(ctx context.Context, blocks fileservice.BlockRange, buffer []byte, moved func(bytes int64)) error

	// finish makes the file complete, and gives its hash.
	finish(ctx context.Context) (fileservice.Sum, error)

	// end gives up what begin has taken. If drop is set, what is there is of no use any more.
	end(drop bool) error

	// refresh looks at the source again, which has changed, and gives its size. Small files have it, too.
	refresh(ctx context.Context) (size int64, err error)
}

var errPresent = errors.New("fileservice: it is there already")

// transfer is a Pull or a Push under way.
//
//	walkers ──▶ queue ─┬─▶ begin ──▶ ranges ──▶ move ─┬─▶ finish, up to 128 at once
//	              ▲    └─▶ small files ──▶ moveSmall ─┘                 │
//	              └───── the source has changed, or try again ◀─────────┘
type transfer struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	client   *client.Client
	config   Config
	connect  func() // makes all connections; for little, those that are needed at once will do
	progress *Progress
	tree     *walk // nil for a single file
	small    smallMover

	mu          sync.Mutex
	changed     *sync.Cond // any of what follows
	queue       []*item    // found, to be begun
	begun       []*item    // have blocks that nobody moves yet
	unended     int        // items that were found, and are not done
	walking     bool       // more will be found
	parcels     int        // of small files that are moved
	openParcels int        // those of which files are open, moved or not
	large       int        // workers that have a buffer
	buffers     [][]byte   // those that nobody has
	perCall     int64      // blocks, as bandwidth and delay make good
	result      Result
	finishes    chan struct{}
	finisher    sync.WaitGroup

	checking context.Context
	endCheck context.CancelFunc
	check    sync.WaitGroup // of checkServer

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
	ranges   []fileservice.BlockRange
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

func newTransfer(ctx context.Context, client *client.Client, config Config) *transfer {
	t := &transfer{
		config: config, progress: config.Progress,
		walking: true, perCall: minRange,
		finishes: make(chan struct{}, finishesAtOnce),
	}
	if t.progress == nil {
		t.progress = &Progress{}
	}
	t.changed = sync.NewCond(&t.mu)
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.client = client.WithContext(t.ctx)
	t.checking, t.endCheck = context.WithCancel(t.ctx)
	t.connect = sync.OnceFunc(func() {
		client.Connect()
		t.check.Go(t.checkServer)
	})
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
	for range workerCount {
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
	t.endCheck()
	t.check.Wait()
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

// checkServer ends the transfer if this module cannot use the server. It runs beside a transfer that is worth the call.
// The transfer itself reports a server that does not answer.
func (t *transfer) checkServer() {
	capabilities, err := t.client.Capabilities(t.checking)
	if err != nil {
		return
	}
	if err := capabilities.Check(); err != nil {
		t.cancel(err)
	}
}

// add puts files into the queue, and waits while that is full.
func (t *transfer) add(items ...*item) {
	for _, it := range items {
		t.progress.files.Add(1)
		t.progress.bytes.Add(it.size)
		t.tree.awaitFile(it.name)
	}
	if t.progress.files.Load() > fileservice.MaxSmallFiles || t.progress.bytes.Load() > minRange*fileservice.BlockSize {
		t.connect()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.queue) >= queueLength && t.ctx.Err() == nil {
		t.changed.Wait()
	}
	t.queue = append(t.queue, items...)
	t.unended += len(items)
	t.changed.Broadcast()
}

// work is a worker.
func (t *transfer) work() {
	for do := t.next(); do != nil; do = t.next() {
		do()
	}
}

// next gives a worker something to do: blocks of a file that is begun, a file to begin, or small files. It is nil when
// there will be nothing any more.
func (t *transfer) next() (do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		switch {
		case t.ctx.Err() != nil, !t.walking && t.unended == 0:
			return nil
		case len(t.begun) > 0 && t.large < t.client.MostLarge():
			it, blocks := t.takeRange()
			return t.withBuffer(func(buffer []byte) { t.move(it, blocks, buffer) })
		}
		if do := t.takeQueued(); do != nil {
			return do
		}
		t.changed.Wait()
	}
}

// takeQueued begins what is in the queue. mu is held.
func (t *transfer) takeQueued() (do func()) {
	for i, it := range t.queue {
		switch {
		case it.size <= fileservice.SmallFileSize && t.parcels < parcelsAtOnce && t.openParcels < parcelsOpen:
			b := t.takeParcel(i)
			return func() { t.runParcel(b) }
		case it.size > fileservice.SmallFileSize && t.large < t.client.MostLarge() && len(t.begun) == 0:
			t.queue = slices.Delete(t.queue, i, i+1)
			t.changed.Broadcast()
			return t.withBuffer(func(buffer []byte) { t.begin(it, buffer) })
		}
	}
	return nil
}

// takeRange takes blocks of the first file that is begun: many in a call, fewer when there are few left, so that all
// workers end at about the same time. Over a long way they are still so many that a call does more than wait for its
// first block. mu is held.
func (t *transfer) takeRange() (*item, fileservice.BlockRange) {
	it := t.begun[0]
	left := int64(0)
	for _, r := range it.ranges {
		left += r.Count
	}
	blocks := it.ranges[0]
	blocks.Count = min(blocks.Count, t.perCall, max(t.perCall/leastShare, left/int64(2*t.client.MostLarge())))
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

// withBuffer lends a buffer of a block to what is to be done. mu is held.
func (t *transfer) withBuffer(do func(buffer []byte)) func() {
	t.large++
	var buffer []byte
	if last := len(t.buffers) - 1; last >= 0 {
		buffer = t.buffers[last]
		t.buffers = t.buffers[:last]
	}
	return func() {
		if buffer == nil {
			buffer = make([]byte, fileservice.BlockSize)
		}
		do(buffer)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.large--
		t.buffers = append(t.buffers, buffer)
		t.changed.Broadcast()
	}
}

// begin begins a file, and moves it at once if it has one block.
func (t *transfer) begin(it *item, buffer []byte) {
	missing, err := it.mover.begin(t.ctx)
	if err != nil {
		it.err = err
		t.finish(it)
		return
	}
	left := int64(0)
	for _, r := range missing {
		left += min(r.Count*fileservice.BlockSize, it.size-r.First*fileservice.BlockSize)
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
	case fileservice.Blocks(it.size) > 1:
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
func (t *transfer) move(it *item, blocks fileservice.BlockRange, buffer []byte) {
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
	if err != nil {
		it.err = worse(it.err, err)
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

// expect makes calls as long as suits the time that an answer takes, before there are others to go by: as if each call
// got 160 MB/s, which is more than one does over most long ways.
func (t *transfer) expect(delay time.Duration) {
	const perBlock = fileservice.BlockSize * time.Second / 160e6
	t.mu.Lock()
	defer t.mu.Unlock()
	t.perCall = max(t.perCall, min(int64(delay/perBlock), maxRange/2))
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
	t.later(func() {
		root, err := fileservice.Sum{}, it.err
		if err == nil {
			root, err = it.mover.finish(t.ctx)
		}
		drop := errors.Is(err, fileservice.ErrChanged)
		if ending := it.mover.end(drop); err == nil || err == errPresent {
			err = errors.Join(err, ending)
		}
		t.progress.deactivate(it)
		t.uncount(it, err)
		if err = t.settle(it, root, err); err != nil {
			t.cancel(err)
		}
	})
}

// uncount takes back what was counted of a file that failed.
func (t *transfer) uncount(it *item, err error) {
	if err != nil {
		t.progress.bytesDone.Add(-it.done)
		it.done = 0
	}
}

// later does what takes the disk, or the other end, a while. It is not called by what it does.
func (t *transfer) later(do func()) {
	t.finishes <- struct{}{}
	t.finisher.Go(func() {
		defer func() { <-t.finishes }()
		do()
	})
}
