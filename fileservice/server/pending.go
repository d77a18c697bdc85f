package server

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"

	"culvert/fileservice/internal/traffic"
)

// add takes in a connection for its handshake, or returns nil. Whoever connects may do so without end, and say nothing.
// So if there is no room, the address with the most handshakes under way gives up one of them, and not the one that
// has come last. Of one address, one that has said nothing has to go, or else any: most of those who come again get
// through.
func (c *connections) add(inner net.Conn) *peerConn {
	conn := &peerConn{Conn: traffic.NewConn(inner), owner: c, address: addressOf(inner)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if len(c.pending) >= c.config.MaxConnections {
		other := c.expendable(conn.address)
		if other == nil {
			return nil
		}
		other.dropped.Store(true)
		delete(c.pending, other)
		go other.cut()
	}
	conn.life, conn.end = context.WithCancel(context.Background())
	c.pending[conn] = struct{}{}
	return conn
}

// expendable returns a handshake that gives its place to one from an address, or nil. mu is held.
func (c *connections) expendable(address string) *peerConn {
	counts := map[string]int{}
	for conn := range c.pending {
		counts[conn.address]++
	}
	from, own := address, counts[address]
	for other, count := range counts {
		if count > max(counts[from], own+1) {
			from = other
		}
	}
	var candidates []*peerConn
	for conn := range c.pending {
		if conn.address == from {
			candidates = append(candidates, conn)
		}
	}
	return silentOf(candidates)
}

// silentOf returns a random one of some connections, if possible one on which nothing has arrived. It asks the system
// for a few of them only, since there may be thousands of calls in a second.
func silentOf(conns []*peerConn) (chosen *peerConn) {
	const most = 8
	for range min(most, len(conns)) {
		i, last := rand.IntN(len(conns)), len(conns)-1
		conn := conns[i]
		conns[i], conns = conns[last], conns[:last]
		if received, _ := conn.Traffic.Moved(); received == 0 {
			return conn
		}
		chosen = conn
	}
	return chosen
}

// addressOf returns what identifies the other machine before its handshake: its address, or its network for IPv6, where
// a machine has as many addresses as it likes.
func addressOf(conn net.Conn) string {
	remote, is := conn.RemoteAddr().(*net.TCPAddr)
	if !is {
		return conn.RemoteAddr().String()
	}
	address := remote.AddrPort().Addr().Unmap()
	if address.Is4() {
		return address.String()
	}
	const network = 64 // bits
	return netip.PrefixFrom(address, network).Masked().String()
}

// explain returns the error of a handshake.
func (c *peerConn) explain(err error) error {
	if c.dropped.Load() {
		return errTooMany
	}
	return err
}
