package fileservice

import (
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc/stats"

	"culvert/bytebuf"
)

// share is what one connection may have of a pool that all connections have in common: half of it, so that one client
// that takes nothing cannot keep the others from being served.
type share struct {
	pool  *bytebuf.Pool
	size  int
	slots chan struct{}

	mu   sync.Mutex
	sent map[*lent]struct{} // owned by messages
}

func newShare(pool *bytebuf.Pool, size, count int) *share {
	return &share{pool: pool, size: size, slots: make(chan struct{}, (count+1)/2), sent: map[*lent]struct{}{}}
}

// get lends a buffer. The borrower ends with free.
func (s *share) get(ctx context.Context) (*lent, error) {
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
	return &lent{buffer: buffer, share: s}, nil
}

// reclaim takes back what messages own that nobody will send any more.
func (s *share) reclaim() {
	s.mu.Lock()
	sent := slices.Collect(maps.Keys(s.sent))
	s.mu.Unlock()
	for _, l := range sent {
		l.free()
	}
}

// lent is a buffer of a share. As the pool of a message it is given back when the message was sent.
type lent struct {
	buffer *bytebuf.Buffer
	share  *share
	freed  bool // guarded by the lock of share
}

// handOver makes it that of a message.
func (l *lent) handOver() {
	l.share.mu.Lock()
	defer l.share.mu.Unlock()
	l.share.sent[l] = struct{}{}
}

// free gives it back, once.
func (l *lent) free() {
	s := l.share
	s.mu.Lock()
	freed := l.freed
	l.freed = true
	delete(s.sent, l)
	s.mu.Unlock()
	if !freed {
		l.buffer.Free()
		<-s.slots
	}
}

// Get is never called: a message brings its buffer along.
func (l *lent) Get(int) *[]byte { panic("fileservice: a buffer is not a pool") }

// Put gives the buffer back.
func (l *lent) Put(*[]byte) { l.free() }

// reclaimer reclaims the buffers of connections that have ended. gRPC leaves to the collector the messages that it had
// queued for a call, and had not sent, when a connection broke.
type reclaimer struct{}

// HandleConn hears of the end of a connection when nothing reads its messages any more.
func (reclaimer) HandleConn(ctx context.Context, event stats.ConnStats) {
	if _, ended := event.(*stats.ConnEnd); ended {
		connOf(ctx).buffers.reclaim()
	}
}

// TagConn adds nothing.
func (reclaimer) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// TagRPC adds nothing.
func (reclaimer) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC does nothing.
func (reclaimer) HandleRPC(context.Context, stats.RPCStats) {}
