package server

import (
	"math"
	"slices"
	"time"
)

// replaceable returns the connection that makes room for another one of a peer, or nil. mu is held.
//
// It is the one that has been without a call for the longest time, unless that is short: a client makes several
// connections before it uses them all, and these must not replace each other. If all were used lately, a peer's first
// connection of either kind still replaces one: for gRPC, one of the same peer that moves bytes; or any that another
// peer has beyond its share. A connection that moves bytes never replaces its peer's one for gRPC, without which the
// client could not use it.
func (c *connections) replaceable(peer peerKey, isData bool) *peerConn {
	full, over := c.slots.standing(peer)
	conn, used := c.longestIdle(func(conn *peerConn) bool {
		if conn.peer == peer {
			return !isData || conn.session != nil
		}
		return !full
	})
	if used < int64(time.Since(c.start)-c.config.StallTimeout/idleFraction) {
		return conn
	}
	for conn := range c.established {
		if conn.placed && conn.peer == peer && (conn.session != nil) == isData {
			return nil
		}
	}
	conn, _ = c.longestIdle(func(conn *peerConn) bool {
		if full {
			return conn.peer == peer && !isData
		}
		return slices.Contains(over, conn.peer)
	})
	return conn
}

// longestIdle returns the connection, of those that may go, that has been without a call for the longest time, and when
// it was used. A connection that has calls is chosen only if there is no other, and one that moves bytes first, because
// its calls can end in order.
func (c *connections) longestIdle(mayGo func(*peerConn) bool) (longest *peerConn, used int64) {
	used = math.MaxInt64
	for conn := range c.established {
		at := conn.used.Load()
		switch {
		case conn.calls.Load() == 0:
		case conn.session != nil:
			at = math.MaxInt64 - 1
		default:
			at = math.MaxInt64
		}
		if conn.placed && mayGo(conn) && (longest == nil || at < used) {
			longest, used = conn, at
		}
	}
	return longest, used
}

// StallTimeout/idleFraction is how long a connection is without a call before another one may replace it.
const idleFraction = 6
