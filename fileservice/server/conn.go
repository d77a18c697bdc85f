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

// connections counts and limits the connections of a server. It implements gRPC's transport credentials, to see each
// connection before and after its handshake and to attach it to its calls.
type connections struct {
	config  *Config
	start   time.Time
	slots   *shares // established connections
	buffers share   // for messages to send
	blocks  share   // for blocks received; zero if the server is not writable

	mu          sync.Mutex
	closed      bool
	pending     map[*peerConn]struct{} // in their handshake
	established map[*peerConn]struct{}
}

// peerConn is one connection of a server. It is also the AuthInfo of gRPC, without content: security is left to the
// listener.
type peerConn struct {
	*traffic.Conn
	owner     *connections
	watch     *traffic.Watch // from its admission on
	peer      peerKey        // from its admission on, like buffers and blocks
	buffers   share
	blocks    share
	calls     atomic.Int64 // calls under way
	used      atomic.Int64 // end of the last call, in nanoseconds since start
	ended     atomic.Bool  // Close was called
	gone      bool         // guarded by the lock of owner, like admitted
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

// maxBlocks returns the number of blocks in the memory of MaxBuffers.
func maxBlocks(config *Config) int {
	return max(1, config.MaxBuffers*wire.MessageSize/fileservice.BlockSize)
}

// limitedListener limits the connections in their handshake.
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
		_ = inner.Close() // no data was written
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

// closePending ends all handshakes, because gRPC waits for them when it stops.
func (c *connections) closePending() {
	c.mu.Lock()
	c.closed = true
	conns := slices.Collect(maps.Keys(c.pending))
	c.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close() // its handshake reports an error
	}
}

// closeEstablished closes all connections concurrently; gRPC does so one by one, and each may wait for its client. It
// is called after closePending, so no new connections follow.
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

// cut closes a connection, and waits at most traffic.ClosePatience for its client.
func (c *peerConn) cut() {
	if inner, is := c.Conn.Conn.(interface{ NetConn() net.Conn }); is {
		cut := time.AfterFunc(traffic.ClosePatience, func() { _ = inner.NetConn().Close() }) // which ends Close
		defer cut.Stop()
	}
	_ = c.Close() // the connection is of no further use
}

// ServerHandshake performs the handshake of a connection, if it has one, and admits it.
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

// peerOf returns the peer of a connection.
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

// watchSilence closes the connection if its client is gone, which does not answer gRPC's ping after traffic.PingAfter.
func (c *peerConn) watchSilence() {
	limit := traffic.PingAfter(c.owner.config.StallTimeout) + c.owner.config.StallTimeout
	c.watch = traffic.NewWatch(c.cut)
	c.watch.Start(&traffic.Wait{Limit: limit, IsOver: func(w *traffic.Watch) bool {
		received, sent := c.Traffic.Moved()
		return w.Own.See(received+sent) >= limit
	}})
}

// lingering tells whether a client may still use a draft or upload that no call has named for a while: on a slow line,
// its next call waits behind others. It may, while the connection of the last call exists and the peer sends anything
// on any connection.
type lingering struct {
	conn  *peerConn       // of the last call
	since traffic.Silence // of the peer
	looks int             // number of calls of goesOn
}

const (
	longestLinger = 10 // multiple of the idle time after which lingering ends; the client may be busy otherwise forever
	lingerParts   = 4  // calls of goesOn within the idle time
)

// use records a call on conn.
func (l *lingering) use(conn *peerConn) { *l = lingering{conn: conn} }

// goesOn reports whether the client has sent any byte since the previous call. The first call only starts the count.
func (l *lingering) goesOn() bool {
	l.looks++
	if l.conn.ended.Load() || l.looks > longestLinger*lingerParts {
		return false
	}
	first, before := !l.since.Known, l.since.Last
	l.since.See(l.conn.owner.receivedFrom(l.conn.peer))
	return first || l.since.Last != before
}

// receivedFrom returns the bytes received on the current connections of a peer.
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

// forget returns the place of an established connection, once. mu is held.
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

// StallTimeout/idleFraction is how long a connection is without a call before another one may replace it.
const idleFraction = 6

// use records the end of a call.
func (c *peerConn) use() { c.used.Store(int64(time.Since(c.owner.start))) }

// Close closes the connection, once, and removes it from its owner.
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
			o.config.Observer.Disconnected(c.RemoteAddr()) // before another connection gets its place
		}
		o.mu.Lock()
		o.forget(c)
		o.mu.Unlock()
	})
	return c.closeErr
}

// AuthType returns a name for gRPC.
func (c *peerConn) AuthType() string { return "listener" }

// connOf returns the connection of a call.
func connOf(ctx context.Context) *peerConn {
	p, _ := peer.FromContext(ctx)
	return p.AuthInfo.(*peerConn)
}

// ClientHandshake is never called, because a server does not dial.
func (c *connections) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.ErrUnsupported
}

// Info returns the name of the protocol.
func (c *connections) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "listener"}
}

// Clone returns c, because all connections of a server are counted together.
func (c *connections) Clone() credentials.TransportCredentials { return c }

// OverrideServerName does nothing, because servers have no names.
func (c *connections) OverrideServerName(string) error { return nil }
