package transfer

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"culvert/fileservice"
	"culvert/internal/grace"
	"culvert/place"
)

// The limits on concurrent work.
const (
	workerCount    = 48
	finishesAtOnce = 128 // files that wait for a sync here or on the server
	queueLength    = 512 // files found but not begun
)

// partingTime is how long a transfer that was canceled waits for the server to be told of what it gives up.
const partingTime = time.Second

// mover moves one large file in one direction. begin returns errPresent if the destination has the file.
type mover interface {
	// begin returns the missing blocks.
	begin(ctx context.Context) (missing []fileservice.BlockRange, err error)

	// move transfers consecutive blocks, and calls moved after each.
	move(ctx context.Context, blocks fileservice.BlockRange, moved func(bytes int64)) error

	// finish completes the file.
	finish(ctx context.Context) (outcome, error)

	// end releases what begin acquired. The cause is why the file is not complete, or nil.
	end(cause error) error

	// isPresent reports whether the destination has the file, in a dry run.
	isPresent(ctx context.Context) (bool, error)

	// small returns a small file as one of a batch: the name that it has at the other end, and the source's version.
	// seen returns the version at the other end.
	small() fileservice.SmallFile
	seen() fileservice.Version

	// refresh looks at the changed source again, and returns its size. It also works for small files.
	refresh(ctx context.Context) (size int64, err error)
}

// outcome is about a file that is complete.
type outcome struct {
	hash     Hash // of the local copy, or zero without Config.Hash
	verified bool // both ends have compared checksums
}

// isUseless reports whether the cause of the end of a file makes its partial copy useless. If another file has got the
// name meanwhile, it would stay until somebody resumes with Overwrite.
func isUseless(cause error) bool {
	return errors.Is(cause, place.ErrChanged) || errors.Is(cause, errOtherSum) || errors.Is(cause, errPresent) ||
		errors.Is(cause, fs.ErrExist)
}

var errPresent = errors.New("fileservice: the file is already present")

// transfer is a Pull or a Push in progress.
//
//	walkers ──▶ queue ─┬─▶ begin ──▶ ranges ──▶ move ─┬─▶ finish, up to 128 at once
//	              ▲    └─▶ small files ──▶ moveSmall ─┘                 │
//	              └───── source changed, or try again ◀─────────────────┘
type transfer struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	parting  context.Context // ends partingTime after ctx, or with run
	parted   context.CancelFunc
	config   Config
	connect  func()     // opens all connections, once, if there is enough to transfer
	most     func() int // workers that move blocks
	progress *Progress
	tree     *walk // nil for a single file
	small    smallMover
	written  *fileSystems // nil if the copy is in a place

	mu          sync.Mutex
	changed     *sync.Cond // one of the fields below
	queue       []*item    // found but not begun
	begun       []*item    // with blocks that no worker has taken
	unended     int        // items found but not done
	walking     bool       // more may be found
	batches     int        // being moved
	openBatches int        // with open files, moved or not
	large       int        // workers that move blocks
	perCall     int64      // blocks, adapted to bandwidth and delay
	result      Result
	finishes    chan struct{}
	reads       chan struct{} // of readAgain
	finisher    sync.WaitGroup

	checking context.Context
	endCheck context.CancelFunc
	check    sync.WaitGroup // of checkServer

	asking    sync.Mutex // for Retry
	notified  time.Time  // of waiting
	reporting sync.Mutex // for Notify
}

// item is one file.
type item struct {
	mover mover
	name  string // for messages
	size  int64
	whole bool // one worker moves all of it, from its beginning to its end

	// Guarded by transfer.mu, or owned by the worker that begins or ends the item.
	ranges   []fileservice.BlockRange
	moving   int
	err      error
	afresh   int   // how often it changed
	failures int   // to reach the server, since blocks were moved
	done     int64 // bytes at the destination
	resumed  int64 // bytes at the destination when it was first begun
	known    bool  // resumed is set
	begun    bool
	refusals int // of what was begun, since blocks were moved
	outcome
}

func newTransfer(ctx context.Context, config Config) *transfer {
	t := &transfer{
		config: config, progress: config.Progress,
		walking: true, perCall: minRange,
		finishes: make(chan struct{}, finishesAtOnce),
		reads:    make(chan struct{}, readsAtOnce),
	}
	if t.progress == nil {
		t.progress = &Progress{}
	}
	t.changed = sync.NewCond(&t.mu)
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.parting, t.parted = grace.Context(t.ctx, partingTime)
	t.checking, t.endCheck = context.WithCancel(t.ctx)
	return t
}

// run transfers the files for which walk calls add.
func (t *transfer) run(walk func() error) (Result, error) {
	start := time.Now()
	defer t.parted()
	defer wakeAtEnd(t.ctx, t.changed)()
	var workers sync.WaitGroup
	for range workerCount {
		workers.Go(func() {
			for do := t.next(); do != nil; do = t.next() {
				do()
			}
		})
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
		_ = it.mover.end(context.Cause(t.ctx)) // which is reported
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

// checkServer ends the transfer if this module cannot use the server. It runs beside the transfer, which itself reports
// a server that does not answer.
func (t *transfer) checkServer(server Server) {
	capabilities, err := server.Capabilities(t.checking)
	if err != nil {
		return
	}
	if err := capabilities.Check(); err != nil {
		t.cancel(err)
	}
}

// add puts files into the queue, and waits while it is full.
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

// wakeAtEnd wakes those that wait for cond when ctx ends, unless stop is called before.
func wakeAtEnd(ctx context.Context, cond *sync.Cond) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		cond.L.Lock()
		defer cond.L.Unlock()
		cond.Broadcast()
	})
}

// next returns the next job of a worker: to move blocks of a begun file, to begin a file, or to move small files. It
// returns nil when there will be no more.
func (t *transfer) next() (do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		switch {
		case t.ctx.Err() != nil, !t.walking && t.unended == 0:
			return nil
		case len(t.begun) > 0 && t.large < t.most():
			it, blocks := t.takeRange()
			return t.largeJob(func() { t.move(it, blocks) })
		}
		if do := t.takeQueued(); do != nil {
			return do
		}
		t.changed.Wait()
	}
}

// takeQueued returns a job for a queued file, or nil. mu is held.
func (t *transfer) takeQueued() (do func()) {
	for i, it := range t.queue {
		switch {
		case it.size <= fileservice.SmallFileSize && t.hasRoomFor(it):
			b := t.takeBatch(i)
			return func() { t.runBatch(b) }
		case it.size > fileservice.SmallFileSize && t.large < t.most() && len(t.begun) == 0:
			t.queue = slices.Delete(t.queue, i, i+1)
			t.changed.Broadcast()
			return t.largeJob(func() { t.begin(it) })
		}
	}
	return nil
}

// largeJob returns a job that counts as large. mu is held.
func (t *transfer) largeJob(do func()) func() {
	t.large++
	return func() {
		do()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.large--
		t.changed.Broadcast()
	}
}

// begin begins a file. If it has one block, begin also moves it.
func (t *transfer) begin(it *item) {
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
	if left == 0 {
		t.finish(it)
		return
	}
	t.mu.Lock()
	if fileservice.Blocks(it.size) > 1 {
		it.ranges = missing
		t.begun = append(t.begun, it)
		t.changed.Broadcast()
		t.mu.Unlock()
		return
	}
	it.moving++
	t.mu.Unlock()
	t.move(it, missing[0])
}

// move moves blocks of a file. The worker that moves the last ones finishes it.
func (t *transfer) move(it *item, blocks fileservice.BlockRange) {
	start := time.Now()
	first := time.Duration(0)
	err := it.mover.move(t.ctx, blocks, func(bytes int64) {
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
			t.begun = slices.DeleteFunc(t.begun, func(other *item) bool { return other == it })
		}
	}
	it.moving--
	last := it.moving == 0 && len(it.ranges) == 0
	t.mu.Unlock()
	if last {
		t.finish(it)
	}
}

// finish finishes a file in another goroutine.
func (t *transfer) finish(it *item) {
	t.later(func() {
		err := it.err
		if err == nil {
			it.outcome, err = it.mover.finish(t.ctx)
		}
		if ending := it.mover.end(err); err == nil || err == errPresent {
			err = errors.Join(err, ending)
		}
		t.progress.deactivate(it)
		t.uncount(it, err)
		if err = t.settle(it, err); err != nil {
			t.cancel(err)
		}
	})
}

// uncount subtracts the bytes of a file that failed.
func (t *transfer) uncount(it *item, err error) {
	if err != nil {
		t.progress.bytesDone.Add(-it.done)
		it.done = 0
	}
}

// later calls do, which may wait for the disk or the server, in another goroutine. do must not call later.
func (t *transfer) later(do func()) {
	t.finishes <- struct{}{}
	t.finisher.Go(func() {
		defer func() { <-t.finishes }()
		do()
	})
}
