package server

import (
	"context"
	"errors"
	"maps"
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"culvert/fileservice"
	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/internal/wire"
)

// connections counts and bounds the connections of a server. As the transport credentials of gRPC it sees each before
// and after its handshake, and gives each call its connection.
type connections struct {
	config  *Config
	start   time.Time
	slots   *shares // of established
	buffers share   // for messages that are sent
	blocks  share   // for blocks that are received; without units if the server is not writable

	mu          sync.Mutex
	closed      bool
	pending     map[*peerConn]struct{} // in their handshake
	established map[*peerConn]struct{}
}

// serverConn is one connection of a server. It is what gRPC knows of its security: nothing, since that is the
// listener's.
type peerConn struct {
	*traffic.Conn
	owner     *connections
	watch     *traffic.Watch // from its admission on
	peer      peerKey        // from its admission on
	buffers   share          // of the peer, as are blocks
	blocks    share
	calls     atomic.Int64 // under way
	used      atomic.Int64 // when the last one has ended, in nanoseconds since the server was made
	ended     atomic.Bool  // it was closed
	gone      bool         // guarded by the lock of owner, as is admitted
	admitted  bool
	closeOnce sync.Once
	closeErr  error
}

var (
	errTooMany = errors.New("fileservice: too many connections")
	errClosed  = errors.New("fileservice: the server is closed")
)

func (c *connections) init(config *Config) {
	c.config, c.start = config, time.Now()
	c.slots = newShares(config.MaxConnections, 0)
	c.buffers = newShare(wire.MessageSize, config.MaxBuffers)
	if config.Writable {
		c.blocks = newShare(fileservice.BlockSize, maxBlocks(config))
	}
	c.pending, c.established = map[*peerConn]struct{}{}, map[*peerConn]struct{}{}
}

// maxBlocks is how many blocks take the memory of MaxBuffers.
func maxBlocks(config *Config) int {
	return max(1, config.MaxBuffers*wire.MessageSize/fileservice.BlockSize)
}

// limitedListener hands out no more connections than may be in their handshake.
type limitedListener struct {
	net.Listener
	conns *connections
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if conn := l.conns.add(inner); conn != nil {
			return conn, nil
		}
		l.conns.reject(inner, errTooMany)
		_ = inner.Close() // nothing was written to it
	}
}

func (c *connections) add(inner net.Conn) *peerConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.pending) >= c.config.MaxConnections {
		return nil
	}
	conn := &peerConn{Conn: traffic.NewConn(inner), owner: c}
	c.pending[conn] = struct{}{}
	return conn
}

func (c *connections) reject(conn net.Conn, err error) {
	if c.config.Observer.Rejected != nil {
		c.config.Observer.Rejected(conn.RemoteAddr(), err)
	}
}

// closePending ends the handshakes, which gRPC would wait for when it stops.
func (c *connections) closePending() {
	c.mu.Lock()
	c.closed = true
	conns := slices.Collect(maps.Keys(c.pending))
	c.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close() // its handshake fails, which is what is reported
	}
}

// closeEstablished closes all connections at once, since gRPC does so one after the other, and each may wait for its
// client. It is called after closePending, so that there will be no others.
func (c *connections) closeEstablished() {
	c.mu.Lock()
	conns := slices.Collect(maps.Keys(c.established))
	c.mu.Unlock()
	var closing sync.WaitGroup
	for _, conn := range conns {
		closing.Go(conn.cut)
	}
	closing.Wait()
}

// cut closes a connection, and does not wait for its client for long.
func (c *peerConn) cut() {
	if inner, is := c.Conn.Conn.(interface{ NetConn() net.Conn }); is {
		cut := time.AfterFunc(traffic.ClosePatience, func() { _ = inner.NetConn().Close() }) // which ends Close
		defer cut.Stop()
	}
	_ = c.Close() // the server ends it whatever it says
}

// ServerHandshake does the handshake of a connection that has one, within the deadline that gRPC has set on it, and
// admits it.
func (c *connections) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn := raw.(*peerConn)
	if secure, is := conn.Conn.Conn.(interface{ HandshakeContext(context.Context) error }); is {
		ctx, cancel := context.WithTimeout(context.Background(), c.config.HandshakeTimeout)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			c.reject(conn, err)
			return nil, nil, err
		}
	}
	if err := c.admit(conn); err != nil {
		c.reject(conn, err)
		return nil, nil, err
	}
	if c.config.Observer.Connected != nil {
		c.config.Observer.Connected(conn.RemoteAddr())
	}
	return conn, conn, nil
}

// peerOf tells whose connection it is.
func peerOf(conn *peerConn) peerKey {
	if known, is := conn.Conn.Conn.(interface{ Peer() string }); is && known.Peer() != "" {
		return peerKey{fingerprint: known.Peer()}
	}
	return peerKey{conn: conn}
}

func (c *connections) admit(conn *peerConn) error {
	peer := peerOf(conn)
	if c.config.Authorize != nil {
		if err := c.config.Authorize(Peer{Fingerprint: peer.fingerprint, Addr: conn.RemoteAddr()}); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || conn.gone {
		return errClosed
	}
	for !c.slots.tryTake(peer) {
		other := c.replaceable(peer)
		if other == nil {
			return errTooMany
		}
		c.forget(other)
		go other.cut()
	}
	delete(c.pending, conn)
	c.established[conn] = struct{}{}
	conn.admitted = true
	conn.peer, conn.buffers, conn.blocks = peer, c.buffers.of(peer), c.blocks.of(peer)
	conn.use()
	conn.watchSilence()
	return nil
}

// watchSilence closes the connection when its client is gone: gRPC asks after pingAfter whether it is there.
func (c *peerConn) watchSilence() {
	limit := traffic.PingAfter(c.owner.config.StallTimeout) + c.owner.config.StallTimeout
	c.watch = traffic.NewWatch(c.cut)
	c.watch.Start(&traffic.Wait{Limit: limit, IsOver: func(w *traffic.Watch) bool {
		received, sent := c.Traffic.Moved()
		return w.Own.See(received+sent) >= limit
	}})
}

// lingering says that a client may still be about to use what it has not named for a while: on a slow line its next
// call waits behind others. That is so while the connection is there that the last call came on, and the peer sends
// anything on any connection.
type lingering struct {
	conn  *peerConn       // of the last call
	since traffic.Silence // of the peer
	looks int             // how often goesOn was asked
}

// longestLinger is how many times the time until something is dropped it lingers at most. A client that has given it up
// may be busy with other things for ever.
const longestLinger = 10

// lingerParts of the time until something is dropped is how often it is looked whether its client still sends.
const lingerParts = 4

// use notes that a call has named it.
func (l *lingering) use(conn *peerConn) { *l = lingering{conn: conn} }

// goesOn reports whether the client has sent something since it was asked before. The first time it only begins to
// count.
func (l *lingering) goesOn() bool {
	l.looks++
	if l.conn.ended.Load() || l.looks > longestLinger*lingerParts {
		return false
	}
	first, before := !l.since.Known, l.since.Last
	l.since.See(l.conn.owner.receivedFrom(l.conn.peer))
	return first || l.since.Last != before
}

// receivedFrom returns how many bytes have come on the present connections of a peer.
func (c *connections) receivedFrom(peer peerKey) (bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.established {
		if conn.peer == peer {
			received, _ := conn.Traffic.Moved()
			bytes += received
		}
	}
	return bytes
}

// forget gives the place of an established connection back, once. mu is held.
func (c *connections) forget(conn *peerConn) {
	if _, is := c.established[conn]; is {
		delete(c.established, conn)
		c.slots.give(conn.peer)
	}
}

// replaceable returns the connection that makes place for another one of a peer, or nil. mu is held.
//
// It is the one that has been without a call for the longest time, if that is a while: a client makes several
// connections before it uses them all, and they are not to take the place of each other. If there is none, a peer
// without any connection gets one of those that a peer has beyond its share.
func (c *connections) replaceable(peer peerKey) *peerConn {
	full := c.slots.isFull(peer)
	mayGo := func(conn *peerConn) bool { return !full || conn.peer == peer }
	idle := int64(time.Since(c.start) - c.config.StallTimeout/idleFraction)
	if conn := c.longestIdle(idle, mayGo); conn != nil {
		return conn
	}
	for conn := range c.established {
		if conn.peer == peer {
			return nil
		}
	}
	over := c.slots.over(peer)
	mayGo = func(conn *peerConn) bool { return slices.Contains(over, conn.peer) }
	if conn := c.longestIdle(math.MaxInt64, mayGo); conn != nil {
		return conn
	}
	for conn := range c.established {
		if mayGo(conn) {
			return conn
		}
	}
	return nil
}

// longestIdle returns the connection that has been without a call for the longest time, of those that were not used
// since a time and may go.
func (c *connections) longestIdle(used int64, mayGo func(*peerConn) bool) *peerConn {
	var longest *peerConn
	for conn := range c.established {
		if at := conn.used.Load(); conn.calls.Load() == 0 && at < used && mayGo(conn) {
			longest, used = conn, at
		}
	}
	return longest
}

// idleFraction of StallTimeout is how long a connection is without a call before it makes place for another one.
const idleFraction = 6

// use notes that a connection was used until now.
func (c *peerConn) use() { c.used.Store(int64(time.Since(c.owner.start))) }

// Close closes the connection once, and forgets it.
func (c *peerConn) Close() error {
	c.closeOnce.Do(func() {
		c.ended.Store(true)
		o := c.owner
		o.mu.Lock()
		delete(o.pending, c)
		c.gone = true
		admitted := c.admitted
		if admitted {
			c.watch.Stop()
		}
		o.mu.Unlock()
		c.closeErr = c.Conn.Close()
		if admitted && o.config.Observer.Disconnected != nil {
			o.config.Observer.Disconnected(c.RemoteAddr()) // before another one has its place
		}
		o.mu.Lock()
		o.forget(c)
		o.mu.Unlock()
	})
	return c.closeErr
}

// AuthType is for gRPC, which wants a name.
func (c *peerConn) AuthType() string { return "listener" }

// connOf gives the connection of a call.
func connOf(ctx context.Context) *peerConn {
	p, _ := peer.FromContext(ctx)
	return p.AuthInfo.(*peerConn)
}

// ClientHandshake is never called: a server makes no connections.
func (c *connections) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.ErrUnsupported
}

// Info says what the protocol is called.
func (c *connections) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "listener"}
}

// Clone gives the same, because all connections of a server are counted together.
func (c *connections) Clone() credentials.TransportCredentials { return c }

// OverrideServerName does nothing: there are no names.
func (c *connections) OverrideServerName(string) error { return nil }
