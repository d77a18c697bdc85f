package server

import (
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
)

// leases are the uploads or drafts that clients have open, by key. A client makes several calls for one, on several
// connections, and may return after a connection has failed. So an unused one stays open for a while.
type leases[K comparable, V leased] struct {
	places *shares // of open

	mu     sync.Mutex
	closed bool
	open   map[K]V
}

// leased is an upload or a draft.
type leased interface {
	io.Closer
	leaseOf() *lease
}

// lease reports how long an upload or draft stays open for its client: until no call has used it for StallTimeout. On a
// slow line, the next call waits behind other data. So the lease also lasts while a connection of its calls exists and
// the peer sends anything on any connection, but not forever. The lock of leases guards all fields.
type lease struct {
	peer   peerKey // the peer that began it
	users  int
	conns  []*peerConn // of the calls; at least the last one
	bytes  int64       // received from their peers
	looks  int         // calls of isOver since the last use
	silent int         // calls of isOver without another byte
}

const (
	leaseParts   = 4  // calls of isOver within StallTimeout, after which a silent client has left
	longestLease = 10 // in StallTimeouts since the last use; the client may send something else forever
)

func newLeases[K comparable, V leased](count int) leases[K, V] {
	return leases[K, V]{places: newShares(count, count), open: map[K]V{}}
}

func (l *lease) leaseOf() *lease { return l }

// use records a call on conn.
func (l *lease) use(conn *peerConn) {
	l.users++
	l.looks, l.silent = 0, 0
	if !slices.Contains(l.conns, conn) {
		l.conns = append(slices.DeleteFunc(l.conns, hasEnded), conn)
	}
}

func hasEnded(conn *peerConn) bool { return conn.life.Err() != nil }

// isGone reports whether all connections of the calls have ended.
func (l *lease) isGone() bool {
	return !slices.ContainsFunc(l.conns, func(conn *peerConn) bool { return !hasEnded(conn) })
}

// received returns the bytes received on the connections of the calls. The lock of leases is held.
func (l *lease) received() (bytes int64) {
	for _, conn := range l.conns {
		received, _ := conn.Traffic.Moved()
		bytes += received
	}
	return bytes
}

// isOver reports whether the client has left, from the bytes received from each peer. It is called leaseParts times
// within StallTimeout.
func (l *lease) isOver(received map[peerKey]int64) bool {
	if l.users > 0 {
		return false
	}
	before := l.bytes
	l.bytes = 0
	for _, conn := range l.conns {
		l.bytes += received[conn.peer]
	}
	if l.bytes != before && !l.isGone() {
		l.silent = 0
	}
	l.looks++
	l.silent++
	return l.silent > leaseParts || l.looks > longestLease*leaseParts
}

// received returns the bytes received on the current connections of each peer. It asks the system for each, so no lock
// is held meanwhile.
func (c *connections) received() map[peerKey]int64 {
	c.mu.Lock()
	conns := slices.Collect(maps.Keys(c.established))
	c.mu.Unlock()
	bytes := map[peerKey]int64{}
	for _, conn := range conns {
		received, _ := conn.Traffic.Moved()
		bytes[conn.peer] += received
	}
	return bytes
}

// forget removes an upload or draft and returns its place. mu is held.
func (l *leases[K, V]) forget(key K) {
	l.places.give(l.open[key].leaseOf().peer)
	delete(l.open, key)
}

// closeLeft closes what clients have left, from the bytes received from each peer.
func (l *leases[K, V]) closeLeft(received map[peerKey]int64) {
	var left []V
	l.mu.Lock()
	for key, v := range l.open {
		if v.leaseOf().isOver(received) {
			l.forget(key)
			left = append(left, v)
		}
	}
	l.mu.Unlock()
	for _, v := range left {
		_ = v.Close() // no client is left to report an error to; committed blocks stay
	}
}

// closeAll closes everything, after the last call.
func (l *leases[K, V]) closeAll() error {
	l.mu.Lock()
	l.closed = true
	open := l.open
	l.open = nil
	l.mu.Unlock()
	var errs []error
	for _, v := range open {
		errs = append(errs, v.Close())
	}
	return errors.Join(errs...)
}
