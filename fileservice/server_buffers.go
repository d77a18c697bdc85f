package fileservice

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"culvert/bytebuf"
)

// share is what one connection may have of a pool that all connections have in common: half of it, so that one client
// that takes nothing cannot keep the others from being served.
type share struct {
	pool  *bytebuf.Pool
	size  int
	slots chan struct{}
}

func newShare(pool *bytebuf.Pool, size, count int) *share {
	return &share{pool: pool, size: size, slots: make(chan struct{}, (count+1)/2)}
}

// get lends a buffer. The borrower ends with free.
func (s *share) get(ctx context.Context) (*lent, error) {
	select {
	case s.slots <- struct{}{}:
		if buffer := s.pool.TryGet(s.size); buffer != nil {
			return s.lend(buffer), nil
		}
		<-s.slots
	default:
	}
	for {
		patience, cancel := context.WithTimeoutCause(ctx, lostInterval, errLate)
		l, err := s.wait(patience)
		cancel()
		if !errors.Is(err, errLate) {
			return l, err
		}
		findLost()
	}
}

func (s *share) wait(ctx context.Context) (*lent, error) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	buffer, err := s.pool.Get(ctx, s.size)
	if err != nil {
		<-s.slots
		return nil, err
	}
	return s.lend(buffer), nil
}

func (s *share) lend(buffer *bytebuf.Buffer) *lent {
	return &lent{loan: &loan{buffer: buffer, share: s}}
}

// lent is a buffer of a share. As the pool of a message it is given back when the message was sent, or when nothing
// knows the message any more: gRPC forgets what it had queued for a call that is canceled at that moment, or for a
// connection that breaks.
type lent struct {
	*loan
	lost runtime.Cleanup
}

// loan is what a share knows of a buffer. It does not lead to lent.
type loan struct {
	buffer *bytebuf.Buffer
	share  *share
	freed  atomic.Bool
}

// handOver makes it that of a message.
func (l *lent) handOver() {
	l.lost = runtime.AddCleanup(l, (*loan).free, l.loan)
}

// free gives it back, once.
func (l *loan) free() {
	if !l.freed.Swap(true) {
		l.buffer.Free()
		<-l.share.slots
	}
}

// Get is never called: a message brings its buffer along.
func (l *lent) Get(int) *[]byte { panic("fileservice: a buffer is not a pool") }

// Put gives the buffer back.
func (l *lent) Put(*[]byte) {
	l.lost.Stop()
	l.free()
}

// lostInterval is how long a buffer is waited for before messages are looked for that gRPC has forgotten, and how often
// that is done at most.
const lostInterval = time.Second

var (
	errLate  = errors.New("fileservice: there is no buffer yet")
	lostNext atomic.Int64 // nanoseconds of Unix time
)

// findLost has the collector run, which finds them. A server all of whose buffers are lost makes no other garbage.
func findLost() {
	now, next := time.Now().UnixNano(), lostNext.Load()
	if now >= next && lostNext.CompareAndSwap(next, now+int64(lostInterval)) {
		runtime.GC()
	}
}
