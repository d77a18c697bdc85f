package fusefs

import (
	"context"
	"fmt"
	"runtime/debug"
	"syscall"
	"time"
)

// maxCalls is how many calls of the file system may be under way or stranded, reads of files aside.
const maxCalls = 128

// patience is how long a program waits on that was sent a signal. Most signals do not end a program, and few expect
// EINTR from a file; those that do end it need not wait for the whole limit.
const patience = 500 * time.Millisecond

// deadline ends the wait of one request: when its time is up, soon after a signal, or with the mount.
type deadline struct {
	m           *mount
	timer       *time.Timer
	interrupted <-chan struct{}
	errno       syscall.Errno // when the time is up
	over        bool          // it is
	mayMove     bool          // as long as the file system moves something, it waits on
	moved       int64         // what that had moved when it began
	until       time.Time     // as long as other reads get somewhere, it waits on until then; not at all if it is zero
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

// readDeadline is a deadline for a read. Reads share a link that may be slow, and so its limit counts from when a part
// of any of them came last.
func (m *mount) readDeadline(ctx context.Context) *deadline {
	d := m.deadline(ctx)
	d.until = time.Now().Add(readTimeouts * m.config.Timeout)
	return d
}

// extendRead reports whether other reads have got somewhere lately, and gives the wait the time that this is worth.
func (d *deadline) extendRead() bool {
	if d.until.IsZero() {
		return false
	}
	limit := d.m.link.lastProgress().Add(d.m.config.Timeout)
	if d.until.Before(limit) {
		limit = d.until
	}
	left := time.Until(limit)
	if left <= 0 {
		return false
	}
	d.timer.Reset(left)
	return true
}

// stop is the last that may be done with it.
func (d *deadline) stop() {
	d.timer.Stop()
	d.interrupted = nil
	d.m.deadlines.Put(d)
}

// wait waits for done, and gives 0 if that came first.
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
			d.over = !d.extendRead() && !d.extendMoving()
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

// call has the file system do something in a goroutine of its own and waits for it, within the limit. What comes too
// late is given to discard, if that is not nil.
func call[T any](ctx context.Context, m *mount, do func() (T, error), discard func(T)) (T, syscall.Errno) {
	d := m.deadline(ctx)
	defer d.stop()
	return callWithin(d, do, discard)
}

// callWithin is call with a limit that the caller has begun.
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

// doWithin is callWithin for what has no result.
func doWithin(d *deadline, do func() error) syscall.Errno {
	_, errno := callWithin(d, func() (struct{}, error) { return struct{}{}, do() }, nil)
	return errno
}

// guarded turns a panic of the file system into an error: the mount serves many programs, and one broken file must not
// take it from all of them.
func guarded[T any](m *mount, do func() (T, error)) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = m.panicked(r)
		}
	}()
	return do()
}

// panicked keeps the first panic for who waits for the end of the mount.
func (m *mount) panicked(r any) error {
	err := fmt.Errorf("fusefs: panic: %v\n%s", r, debug.Stack())
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure == nil {
		m.failure = err
	}
	return err
}
