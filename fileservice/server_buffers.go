package fileservice

import (
	"context"

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
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	buffer, err := s.pool.Get(ctx, s.size)
	if err != nil {
		<-s.slots
		return nil, err
	}
	return &lent{buffer, s}, nil
}

// lent is a buffer of a share. As the pool of a message it is given back when the message was sent.
type lent struct {
	buffer *bytebuf.Buffer
	share  *share
}

func (l *lent) free() {
	l.buffer.Free()
	<-l.share.slots
}

// Get is never called: a message brings its buffer along.
func (l *lent) Get(int) *[]byte { panic("fileservice: a buffer is not a pool") }

// Put gives the buffer back.
func (l *lent) Put(*[]byte) { l.free() }
