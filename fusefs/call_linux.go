package fusefs

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// maxCalls bounds the calls of the file system that have not returned, except reads and writes of files.
	maxCalls = 128

	// patience is how long a program waits after a signal. Most signals do not end a program, and few programs expect
	// EINTR from a file; but a signal that ends it should not take the whole limit.
	patience = 500 * time.Millisecond

	// movingParts is how often per Config.Timeout a MovingFS is asked whether anything moved.
	movingParts = 4

	// movedForOthers is how many bytes may move while a request waits. Beyond that they were for other requests, and no
	// longer extend the wait.
	movedForOthers = 64 << 20
)

// deadline ends the waits of one request: when its time is up, soon after a signal, or with the mount.
type deadline struct {
	m           *mount
	timer       *time.Timer
	interrupted <-chan struct{}
	errno       syscall.Errno // the result when the time is up
	over        bool          // the time is up
	mayMove     bool          // it waits on while bytes move, see MovingFS
	moved       int64         // MovingFS.Moved when it began
	until       time.Time     // while other reads progress, it waits on until then; unless zero
}

func (m *mount) deadline(ctx context.Context) *deadline {
	d, is := m.deadlines.Get().(*deadline)
	if is {
		d.timer.Reset(m.config.Timeout)
	} else {
		d = &deadline{m: m, timer: time.NewTimer(m.config.Timeout)}
	}
	d.interrupted, d.errno, d.over, d.until = ctx.Done(), syscall.EIO, false, time.Time{}
	d.mayMove, d.moved = true, m.moving.bytes.Load()
	return d
}

// readDeadline returns a deadline for a read. Reads share a link that may be slow, so its limit counts from when any of
// them last received bytes.
func (m *mount) readDeadline(ctx context.Context) *deadline {
	d := m.deadline(ctx)
	d.until = time.Now().Add(readTimeouts * m.config.Timeout)
	return d
}

// hasProgress extends the wait if bytes have arrived lately for other reads, or moved on the way to a MovingFS, and
// reports whether it did.
func (d *deadline) hasProgress() bool {
	var limit time.Time
	if !d.until.IsZero() {
		limit = d.m.link.lastProgress().Add(d.m.config.Timeout)
		if d.until.Before(limit) {
			limit = d.until
		}
	}
	if at := d.m.moving.at.Load(); at != nil && d.mayMove && d.m.moving.bytes.Load()-d.moved <= movedForOthers {
		if moving := at.Add(d.m.config.Timeout); moving.After(limit) {
			limit = moving
		}
	}
	left := time.Until(limit)
	if left > 0 {
		d.timer.Reset(left)
	}
	return left > 0
}

// moving records when anything last moved on the way to a [MovingFS].
type moving struct {
	bytes atomic.Int64
	at    atomic.Pointer[time.Time] // nil if unknown
}

// watch polls until the mount ends.
func (w *moving) watch(m *mount, tree MovingFS) {
	ticker := time.NewTicker(max(m.config.Timeout/movingParts, time.Millisecond))
	defer ticker.Stop()
	w.bytes.Store(tree.Moved())
	for {
		select {
		case <-ticker.C:
			if bytes := tree.Moved(); bytes != w.bytes.Swap(bytes) {
				now := time.Now()
				w.at.Store(&now)
			}
		case <-m.ended:
			return
		}
	}
}

// stop frees d, which must not be used afterwards.
func (d *deadline) stop() {
	d.timer.Stop()
	d.interrupted = nil
	d.m.deadlines.Put(d)
}

// wait receives a value from done, or returns an error if the deadline is over before.
func wait[T any](d *deadline, done <-chan T) (T, syscall.Errno) {
	select {
	case value := <-done:
		return value, 0
	default:
	}
	for !d.over {
		select {
		case value := <-done:
			return value, 0
		case <-d.interrupted:
			d.interrupted, d.errno, d.until, d.mayMove = nil, syscall.EINTR, time.Time{}, false
			d.timer.Reset(min(patience, d.m.config.Timeout))
		case <-d.timer.C:
			d.over = !d.hasProgress()
		case <-d.m.ended:
			d.over, d.errno = true, syscall.EIO
		}
	}
	var none T
	return none, d.errno
}

type outcome[T any] struct {
	value T
	err   error
}

// call runs a call of the file system in another goroutine and waits for it, within the limit. A result that comes too
// late goes to discard, unless that is nil.
func call[T any](ctx context.Context, m *mount, do func() (T, error), discard func(T)) (T, syscall.Errno) {
	d := m.deadline(ctx)
	defer d.stop()
	return callWithin(d, do, discard)
}

// callWithin is call with an existing deadline.
func callWithin[T any](d *deadline, do func() (T, error), discard func(T)) (T, syscall.Errno) {
	var none T
	m := d.m
	if _, errno := wait(d, m.slots); errno != 0 {
		return none, errno
	}
	done := make(chan outcome[T], 1)
	m.workers.start(func() {
		value, err := guarded(m, do)
		m.slots <- struct{}{}
		done <- outcome[T]{value, err}
	})
	result, errno := wait(d, done)
	if errno != 0 {
		if discard != nil {
			go func() {
				if late := <-done; late.err == nil {
					discard(late.value)
				}
			}()
		}
		return none, errno
	}
	return result.value, m.errno(result.err)
}

// doWithin is callWithin for calls without a result.
func doWithin(d *deadline, do func() error) syscall.Errno {
	_, errno := callWithin(d, func() (struct{}, error) { return struct{}{}, do() }, nil)
	return errno
}

// guarded turns a panic of the file system into an error: the mount serves many programs, and one broken file must not
// end it for all.
func guarded[T any](m *mount, do func() (T, error)) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = m.panicked(r)
		}
	}()
	return do()
}

// panicked returns a panic as an error. The first one is that of Mounted.Wait.
func (m *mount) panicked(r any) error {
	err := fmt.Errorf("fusefs: panic: %v\n%s", r, debug.Stack())
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure == nil {
		m.failure = err
	}
	return err
}

// maxIdleWorkers is how many goroutines wait for the next task.
const maxIdleWorkers = 32

// workers run tasks that may take long, or forever. They stay for the next task, since a new goroutine grows its stack
// each time, an eighth of the time of small requests. If a task does not end, other goroutines take its place.
type workers struct {
	tasks chan func()
	idle  atomic.Int32
	ended <-chan struct{}
}

// start runs a task immediately, in another goroutine.
func (w *workers) start(task func()) {
	select {
	case w.tasks <- task:
	default:
		go w.work(task)
	}
}

func (w *workers) work(task func()) {
	for {
		task()
		if w.idle.Add(1) > maxIdleWorkers {
			w.idle.Add(-1)
			return
		}
		select {
		case task = <-w.tasks:
			w.idle.Add(-1)
		case <-w.ended:
			return
		}
	}
}
