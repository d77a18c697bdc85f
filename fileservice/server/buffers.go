package server

import (
	"context"

	"culvert/bytebuf"
	"culvert/fileservice/internal/exchange"
)

// share is the access of one peer to a pool of buffers that all peers share.
type share struct {
	pool  *bytebuf.Pool
	size  int
	units *shares // buffers
	peer  peerKey
}

func newShare(size, count int) share {
	pool := bytebuf.NewPool(bytebuf.Class{Size: size, Count: count})
	return share{pool: pool, size: size, units: newShares(count, 1)}
}

// of returns the share of a peer.
func (s share) of(peer peerKey) share {
	s.peer = peer
	return s
}

// get lends a buffer. The caller returns it with Free.
func (s *share) get(ctx context.Context) (exchange.Memory, error) {
	if err := s.units.take(ctx, s.peer); err != nil {
		return nil, err
	}
	buffer := s.pool.TryGet(s.size)
	if buffer == nil {
		buffer = bytebuf.New() // beyond the pool; see shares.anyway
	}
	return &lent{buffer, buffer.Extend(s.size), s}, nil
}

// lent is a buffer of a share.
type lent struct {
	buffer *bytebuf.Buffer
	bytes  []byte
	share  *share
}

// Bytes implements [exchange.Memory].
func (l *lent) Bytes() []byte { return l.bytes }

// Free implements [exchange.Memory].
func (l *lent) Free() {
	l.buffer.Free()
	l.share.units.give(l.share.peer)
}
