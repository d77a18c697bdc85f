package server

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"culvert/bytebuf"
)

// share is the access of one peer to a pool of buffers that all peers share.
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

// get lends a buffer. The caller returns it with free.
func (s *share) get(ctx context.Context) (*lent, error) {
	s.lost.free()
	if err := s.units.take(ctx, s.peer, lostInterval, s.findLost); err != nil {
		return nil, err
	}
	buffer := s.pool.TryGet(s.size)
	if buffer == nil {
		buffer = bytebuf.New() // beyond the pool; see shares.anyway
	}
	return &lent{loan: &loan{buffer: buffer, share: s}}, nil
}

// lent is a buffer of a share. As the pool of a message, it is returned when the message was sent or has become
// garbage: gRPC drops queued messages of a call that is canceled or a connection that breaks.
type lent struct {
	*loan
	lost runtime.Cleanup
}

// loan is the part of lent that a cleanup keeps. It has no reference to lent.
type loan struct {
	buffer *bytebuf.Buffer
	share  *share
	freed  atomic.Bool
}

// handOver passes the buffer to a message.
func (l *lent) handOver() {
	l.lost = runtime.AddCleanup(l, l.share.lost.add, l.loan)
}

// lostLoans are loans whose message gRPC dropped. The cleanup goroutine only records them, and the next call of get
// frees them: it cannot wake goroutines in a bubble of testing/synctest.
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

// free returns the buffer, once.
func (l *loan) free() {
	if !l.freed.Swap(true) {
		l.buffer.Free()
		l.share.units.give(l.share.peer)
	}
}

// Get is never called, because a message has its buffer.
func (l *lent) Get(int) *[]byte { panic("fileservice: a buffer is not a pool") }

// Put returns the buffer.
func (l *lent) Put(*[]byte) {
	l.lost.Stop()
	l.free()
}

// lostInterval is how long get waits before it looks for dropped messages, and the shortest time between two searches.
const lostInterval = time.Second

var lostNext atomic.Int64 // nanoseconds of Unix time

// findLost runs the garbage collector, which finds lost buffers. A server without buffers makes no other garbage.
func (s *share) findLost() {
	s.lost.free()
	now, next := time.Now().UnixNano(), lostNext.Load()
	if now >= next && lostNext.CompareAndSwap(next, now+int64(lostInterval)) {
		runtime.GC()
	}
}
