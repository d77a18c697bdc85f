package server

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"culvert/bytebuf"
)

// share is what the peer of one connection may have of a pool that all peers have in common.
type share struct {
	pool  *bytebuf.Pool
	size  int
	units *shares // buffers
	lost  *lostLoans
	peer  peerKey
}

func newShare(size, count int) share {
	pool := bytebuf.NewPool(bytebuf.Class{Size: size, Count: count})
	return share{pool: pool, size: size, units: newShares(count, 1), lost: new(lostLoans)}
}

// of returns the share of a peer.
func (s share) of(peer peerKey) share {
	s.peer = peer
	return s
}

// get lends a buffer. The borrower ends with free.
func (s *share) get(ctx context.Context) (*lent, error) {
	s.lost.free()
	if err := s.units.take(ctx, s.peer, lostInterval, s.findLost); err != nil {
		return nil, err
	}
	buffer := s.pool.TryGet(s.size)
	if buffer == nil {
		buffer = bytebuf.New() // for a peer that has one anyway
	}
	return &lent{loan: &loan{buffer: buffer, share: s}}, nil
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
	l.lost = runtime.AddCleanup(l, l.share.lost.add, l.loan)
}

// lostLoans are those whose message was forgotten, until somebody asks for a buffer. The goroutine that runs cleanups
// only notes them: to wake others is not its work, and not possible if they are in a bubble of testing/synctest.
type lostLoans struct {
	mu    sync.Mutex
	loans []*loan
}

func (l *lostLoans) add(lost *loan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loans = append(l.loans, lost)
}

func (l *lostLoans) free() {
	l.mu.Lock()
	loans := l.loans
	l.loans = nil
	l.mu.Unlock()
	for _, lost := range loans {
		lost.free()
	}
}

// free gives it back, once.
func (l *loan) free() {
	if !l.freed.Swap(true) {
		l.buffer.Free()
		l.share.units.give(l.share.peer)
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

var lostNext atomic.Int64 // nanoseconds of Unix time

// findLost has the collector run, which finds them. A server all of whose buffers are lost makes no other garbage.
func (s *share) findLost() {
	s.lost.free()
	now, next := time.Now().UnixNano(), lostNext.Load()
	if now >= next && lostNext.CompareAndSwap(next, now+int64(lostInterval)) {
		runtime.GC()
	}
}
