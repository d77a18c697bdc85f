package server

import (
	"context"
	"sync"
	"time"
)

// A peerKey tells the peers of a server apart: by the fingerprint that a connection has proved, or by the connection
// itself if it has none.
type peerKey struct {
	fingerprint string
	conn        *peerConn
}

// shares divides a number of units among the peers of a server. A peer is at work while it holds a unit or waits for
// one. With n peers at work, each may hold 1/(n+1) of the units, rounded up, over however many connections. So there is
// something left for one more. A peer that came when there were fewer gets no further unit before it is down to its
// share. Until then the units may all be taken; of its share a peer can have some anyway.
type shares struct {
	count  int
	anyway int // units that a peer may have if all are taken

	mu    sync.Mutex
	free  int                  // less than 0 if some were had anyway
	peers map[peerKey]*portion // those at work
}

// portion is what one peer has of the shares.
type portion struct {
	held    int
	waiting []chan struct{} // closed when the unit is there; the first one is served first
}

func newShares(count, anyway int) *shares {
	return &shares{count: count, anyway: anyway, free: count, peers: map[peerKey]*portion{}}
}

// limit is how many units each peer may hold. mu is held.
func (s *shares) limit() int {
	parts := len(s.peers) + 1
	return (s.count + parts - 1) / parts
}

// enter returns the portion of a peer, which is at work from now on. mu is held.
func (s *shares) enter(peer peerKey) *portion {
	p := s.peers[peer]
	if p == nil {
		p = &portion{}
		s.peers[peer] = p
	}
	return p
}

// leave forgets a peer that is not at work any more, and serves those that may have more then. mu is held.
func (s *shares) leave(peer peerKey, p *portion) {
	if p.held == 0 && len(p.waiting) == 0 {
		delete(s.peers, peer)
	}
	for next := s.next(); next != nil; next = s.next() {
		close(next.waiting[0])
		next.waiting = next.waiting[1:]
		next.held++
		s.free--
	}
}

// next returns the peer with the fewest units of those that wait and may have one, or nil. mu is held.
func (s *shares) next() *portion {
	var least *portion
	for _, p := range s.peers {
		if len(p.waiting) > 0 && s.mayTake(p) && (least == nil || p.held < least.held) {
			least = p
		}
	}
	return least
}

// mayTake reports whether there is a unit for a peer. mu is held.
func (s *shares) mayTake(p *portion) bool {
	return p.held < s.limit() && (s.free > 0 || p.held < s.anyway)
}

// tryTake takes a unit if there is one for the peer. The caller ends with give.
func (s *shares) tryTake(peer peerKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.enter(peer)
	if len(p.waiting) > 0 || !s.mayTake(p) {
		s.leave(peer, p)
		return false
	}
	p.held++
	s.free--
	return true
}

// take waits for a unit. It calls late whenever an interval has passed without one. The caller ends with give, unless
// there is an error.
func (s *shares) take(ctx context.Context, peer peerKey, interval time.Duration, late func()) error {
	if s.tryTake(peer) {
		return nil
	}
	unit := make(chan struct{})
	s.mu.Lock()
	p := s.enter(peer)
	p.waiting = append(p.waiting, unit)
	s.leave(peer, p) // a unit may have come meanwhile
	s.mu.Unlock()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-unit:
			return nil
		case <-ticker.C:
			late()
		case <-ctx.Done():
			s.abandon(peer, unit)
			return context.Cause(ctx)
		}
	}
}

// abandon ends the wait for a unit, which may have come.
func (s *shares) abandon(peer peerKey, unit chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peers[peer]
	for i, waiting := range p.waiting {
		if waiting == unit {
			p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
			s.leave(peer, p)
			return
		}
	}
	s.giveLocked(peer)
}

// give returns a unit.
func (s *shares) give(peer peerKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveLocked(peer)
}

func (s *shares) giveLocked(peer peerKey) {
	p := s.peers[peer]
	p.held--
	s.free++
	s.leave(peer, p)
}

// over returns the peers that hold more than their share, if the given one is to have a unit and holds less than its
// share: they are to make room for it.
func (s *shares) over(peer peerKey) (over []peerKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.enter(peer)
	limit := s.limit()
	if p.held < limit {
		for key, other := range s.peers {
			if other.held > limit {
				over = append(over, key)
			}
		}
	}
	s.leave(peer, p)
	return over
}

// isFull reports whether a peer has its share.
func (s *shares) isFull(peer peerKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.enter(peer)
	full := p.held >= s.limit()
	s.leave(peer, p)
	return full
}
