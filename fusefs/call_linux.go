package fusefs

import (
	"context"
	"fmt"
	"runtime/debug"
	"syscall"
	"time"
)

const (
	// maxCalls bounds the calls of the file system that have not returned, except reads and writes of files.
	maxCalls = 128

	// patience is how long a program waits after a signal. Most signals do not end a program, and few programs expect
	// EINTR from a file; but a signal that ends it should not take the whole limit.
	patience = 500 * time.Millisecond

	// movingParts is how often per Config.Timeout a request that waits asks whether anything moved.
	movingParts = 4

	// movedForOthers is how many bytes may move while a request waits. Beyond that they were for other requests, and no
	// longer extend the wait.
	movedForOthers = 64 << 20
)

// limit is how long a request may wait: Config.Timeout, and on while bytes move.
type limit struct {
	m           *mount
	left        int // parts of Config.Timeout
	interrupted bool
	begun       int64 // mount.moved when the request began
	last        int64 // and when it was last looked at
}

func (m *mount) limit() limit {
	moved := m.moved()
	return limit{m: m, left: movingParts, begun: moved, last: moved}
}

// part returns how long to wait before next is called.
func (l *limit) part() time.Duration { return l.m.config.Timeout / movingParts }

// next returns how long to wait on, or 0 if the time is up.
func (l *limit) next() time.Duration {
	moved := l.m.moved()
	l.left--
	if moved != l.last && moved-l.begun <= movedForOthers {
		l.last, l.left = moved, max(l.left, movingParts)
	}
	if l.left <= 0 || l.interrupted {
		return 0
	}
	return l.part()
}

// interrupt notes a signal, and returns how long to wait on.
func (l *limit) interrupt() time.Duration {
	l.interrupted = true
	return min(patience, l.m.config.Timeout)
}

// errno returns the error of a request whose time is up.
func (l *limit) errno() syscall.Errno {
	if l.interrupted {
		return syscall.EINTR
	}
	return syscall.EIO
}

// moved changes while bytes arrive, or move on the way to a [MovingFS].
func (m *mount) moved() int64 {
	moved := m.link.arrived.Load()
	if tree, is := m.config.FS.(MovingFS); is {
		moved += tree.Moved()
	}
	return moved
}

// deadline ends the waits of one request: when its limit is reached, soon after a signal, or with the mount.
type deadline struct {
	limit
	timer  *time.Timer
	signal <-chan struct{}
	over   bool
}

func (m *mount) deadline(ctx context.Context) *deadline {
	d := &deadline{limit: m.limit(), signal: ctx.Done()}
	d.timer = time.NewTimer(d.part())
	return d
}

// extend restarts the time limit of a wait that has made progress, and adds the time that a slow disk needs for a
// number of bytes.
func (d *deadline) extend(bytes int64) {
	disk := min(time.Duration(bytes/slowestDisk)*time.Second, longestDisk)
	d.left = movingParts + int(disk/max(d.part(), 1))
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
		case <-d.signal:
			d.signal = nil
			d.timer.Reset(d.interrupt())
		case <-d.timer.C:
			left := d.next()
			d.over = left == 0
			d.timer.Reset(left)
		case <-d.m.ended:
			d.over = true
		}
	}
	var none T
	return none, d.errno()
}

type outcome[T any] struct {
	value T
	err   error
}

// call runs a call of the file system in another goroutine and waits for it, within the deadline. A result that comes
// too late goes to discard, unless that is nil.
func call[T any](d *deadline, do func() (T, error), discard func(T)) (T, syscall.Errno) {
	var none T
	m := d.m
	if _, errno := wait(d, m.slots); errno != 0 {
		return none, errno
	}
	done := make(chan outcome[T], 1)
	go func() {
		value, err := guarded(m, do)
		m.slots <- struct{}{}
		done <- outcome[T]{value, err}
	}()
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

// doWithin is call for calls without a result.
func doWithin(d *deadline, do func() error) syscall.Errno {
	_, errno := call(d, func() (struct{}, error) { return struct{}{}, do() }, nil)
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

// panicked returns a panic as an error.
func (m *mount) panicked(r any) error {
	return m.fail(fmt.Errorf("fusefs: panic: %v\n%s", r, debug.Stack()))
}

// fail makes err that of Mounted.Wait, if it is the first, and returns it.
func (m *mount) fail(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure == nil {
		m.failure = err
	}
	return err
}
