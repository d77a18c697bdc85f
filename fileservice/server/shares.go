package server

import (
	"context"
	"slices"
	"sync"
)

// A peerKey identifies a peer by the fingerprint of its connections, or by the connection itself if it has none.
type peerKey struct {
	fingerprint string
	conn        *peerConn
}

// shares divides units among the peers of a server. A peer is active while it holds a unit or waits for one. With n
// active peers, each may hold 1/(n+1) of the units, rounded up, and at least the least share, over any number of
// connections, which leaves a share for one more. A peer that holds more than its share, because peers were fewer, gets
// no unit until it is below it. Until then all units may be taken; each peer can still have anyway units.
type shares struct {
	count  int
	anyway int // units that a peer can have if all are taken
	least  int // the least share

	mu    sync.Mutex
	free  int                  // negative if peers hold units although all were taken
	peers map[peerKey]*portion // active peers
}

// portion is the state of one active peer.
type portion struct {
	held    int
	waiting []chan struct{} // closed when a unit is taken for it; in order
}

func newShares(count, anyway int) *shares {
	return &shares{count: count, anyway: anyway, free: count, peers: map[peerKey]*portion{}}
}

// limit returns the number of units that each peer may hold. mu is held.
func (s *shares) limit() int {
	parts := len(s.peers) + 1
	return max((s.count+parts-1)/parts, s.least)
}

// enter returns the portion of a peer, and makes it active. mu is held.
func (s *shares) enter(peer peerKey) *portion {
	p := s.peers[peer]
	if p == nil {
		p = &portion{}
		s.peers[peer] = p
	}
	return p
}

// leave removes a peer that is no longer active, and serves waiting peers. mu is held.
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

// next returns the waiting peer with the fewest units that may take one, or nil. mu is held.
func (s *shares) next() *portion {
	var least *portion
	for _, p := range s.peers {
		if len(p.waiting) > 0 && s.mayTake(p) && (least == nil || p.held < least.held) {
			least = p
		}
	}
	return least
}

// mayTake reports whether a peer can take a unit. mu is held.
func (s *shares) mayTake(p *portion) bool {
	return p.held < s.limit() && (s.free > 0 || p.held < s.anyway)
}

// tryTake takes a unit if the peer can have one. The caller returns it with give.
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

// take waits for a unit. If err is nil, the caller returns it with give.
func (s *shares) take(ctx context.Context, peer peerKey) error {
	if s.tryTake(peer) {
		return nil
	}
	unit := make(chan struct{})
	s.mu.Lock()
	p := s.enter(peer)
	p.waiting = append(p.waiting, unit)
	s.leave(peer, p) // a unit may be free by now
	s.mu.Unlock()
	select {
	case <-unit:
		return nil
	case <-ctx.Done():
		s.abandon(peer, unit)
		return context.Cause(ctx)
	}
}

// abandon ends the wait for a unit, or returns the unit if it was taken.
func (s *shares) abandon(peer peerKey, unit chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peers[peer]
	if i := slices.Index(p.waiting, unit); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	} else {
		p.held--
		s.free++
	}
	s.leave(peer, p)
}

// give returns a unit.
func (s *shares) give(peer peerKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peers[peer]
	p.held--
	s.free++
	s.leave(peer, p)
}

// standing reports whether a peer holds its share. Otherwise it returns the peers that hold more than theirs: they have
// to make room for it.
func (s *shares) standing(peer peerKey) (full bool, over []peerKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.enter(peer)
	defer s.leave(peer, p)
	limit := s.limit()
	if p.held >= limit {
		return true, nil
	}
	for key, other := range s.peers {
		if other.held > limit {
			over = append(over, key)
		}
	}
	return false, over
}
