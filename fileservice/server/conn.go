package server

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/traffic"
)

// connections counts and limits the connections of a server. It implements gRPC's transport credentials, to see each
// connection before and after its handshake and to attach it to its calls.
type connections struct {
	credentials.TransportCredentials // not used, except for the methods that a client uses

	config  *Config
	start   time.Time
	slots   *shares // established connections
	buffers share   // for messages to send
	blocks  share   // for blocks received; zero if the server is not writable

	begin func(*peerConn) *exchange.Session // for a connection that moves only bytes

	mu          sync.Mutex
	closed      bool
	pending     map[*peerConn]struct{} // in their handshake
	established map[*peerConn]struct{} // including those that have lost their places
	sessions    sync.WaitGroup         // that are served; grows only while closed is false
}

// peerConn is one connection of a server. It is also the AuthInfo of gRPC, without content: security is left to the
// listener.
type peerConn struct {
	*traffic.Conn
	owner     *connections
	address   string            // of the other machine
	dropped   atomic.Bool       // its place in the handshake was given to another one
	preface   []byte            // read, and not yet returned by Read
	session   *exchange.Session // nil for a connection of gRPC
	files     openFiles
	watch     *traffic.Watch // nil before its admission
	peer      peerKey        // from its admission on, like buffers and blocks
	placed    bool           // it has a place; guarded by the lock of its owner
	buffers   share
	blocks    share
	life      context.Context // ends with Close
	end       context.CancelFunc
	calls     atomic.Int64 // calls under way
	waiting   atomic.Int64 // messages of streams that are sent or received
	used      atomic.Int64 // end of the last call, in nanoseconds since start
	closeOnce sync.Once
	closeErr  error
}

var (
	errTooMany = errors.New("fileservice: too many connections")
	errClosed  = errors.New("fileservice: the server is closed")
)

func (c *connections) init(config *Config, begin func(*peerConn) *exchange.Session) {
	c.TransportCredentials = insecure.NewCredentials()
	c.config, c.start, c.begin = config, time.Now(), begin
	c.slots = newShares(config.MaxConnections, 0)
	c.slots.least = leastSlots
	c.buffers = newShare(exchange.MaxPart, config.MaxBuffers)
	if config.Writable {
		c.blocks = newShare(fileservice.BlockSize, maxBlocks(config))
	}
	c.pending, c.established = map[*peerConn]struct{}{}, map[*peerConn]struct{}{}
}

// leastSlots is the least share of a peer: a client needs a connection of either kind.
const leastSlots = 2

// maxLeaving is the number of connections beyond MaxConnections that have StallTimeout to end in order, because others
// got their places.
const maxLeaving = 16

// maxBlocks returns the number of blocks in the memory of MaxBuffers.
func maxBlocks(config *Config) int {
	return max(1, config.MaxBuffers*exchange.MaxPart/fileservice.BlockSize)
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

func (c *connections) reject(conn net.Conn, err error) {
	if c.config.Observer.Rejected != nil {
		c.config.Observer.Rejected(conn.RemoteAddr(), err)
	}
}

// shutDown ends the sessions when their requests in progress are answered.
func (c *connections) shutDown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.established {
		if conn.session != nil {
			conn.session.Shutdown()
		}
	}
}

// closePending ends all handshakes, because gRPC waits for them when it stops.
func (c *connections) closePending() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cutAll(c.pending)
}

// cutAll closes connections concurrently; gRPC does so one by one, and each may wait for its client. It is called when
// no new connections follow.
func (c *connections) cutAll(conns map[*peerConn]struct{}) {
	c.mu.Lock()
	var closing sync.WaitGroup
	for conn := range conns {
		closing.Go(conn.cut)
	}
	c.mu.Unlock()
	closing.Wait()
}

// retire closes a connection. A session first has some time to answer what it has read and to say BYE.
func (c *peerConn) retire(patience time.Duration) {
	if c.session == nil {
		c.cut()
		return
	}
	c.session.Shutdown()
	time.AfterFunc(patience, c.cut)
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
			err = conn.explain(err)
			c.reject(conn, err)
			return nil, nil, err
		}
	}
	// The peer speaks first in both protocols. gRPC has set a deadline.
	conn.preface = make([]byte, len(exchange.Preface))
	_, err := io.ReadFull(conn.Conn, conn.preface)
	isData := string(conn.preface) == exchange.Preface
	if err == nil && isData {
		err = conn.SetDeadline(time.Time{})
	}
	if err == nil {
		err = c.admit(conn, isData)
	}
	if err != nil {
		err = conn.explain(err)
		c.reject(conn, err)
		return nil, nil, err
	}
	if c.config.Observer.Connected != nil {
		c.config.Observer.Connected(conn.RemoteAddr())
	}
	if !isData {
		return conn, conn, nil
	}
	go func() {
		defer c.sessions.Done()
		if conn.session.Serve() == nil {
			_ = conn.Close() // which sends what is queued
			return
		}
		conn.cut()
	}()
	return nil, nil, credentials.ErrConnDispatched
}

// Read returns what was read of the preface first.
func (c *peerConn) Read(p []byte) (int, error) {
	if len(c.preface) > 0 {
		n := copy(p, c.preface)
		c.preface = c.preface[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// SetDeadline leaves the deadlines of a session alone: gRPC removes those of a connection also when it does not serve
// it, after the handshake, and a Shutdown may have set one by then.
func (c *peerConn) SetDeadline(t time.Time) error {
	if c.session != nil {
		return nil
	}
	return c.Conn.SetDeadline(t)
}

// peerOf returns the peer of a connection.
func peerOf(conn *peerConn) peerKey {
	if known, is := conn.Conn.Conn.(interface{ Peer() string }); is && known.Peer() != "" {
		return peerKey{fingerprint: known.Peer()}
	}
	return peerKey{conn: conn}
}

// admit makes a connection one of those established. If isData is set, the caller serves it, and then calls Done of
// sessions.
func (c *connections) admit(conn *peerConn, isData bool) error {
	peer := peerOf(conn)
	if c.config.Authorize != nil {
		if err := c.config.Authorize(Peer{Fingerprint: peer.fingerprint, Addr: conn.RemoteAddr()}); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || conn.life.Err() != nil {
		return errClosed
	}
	for !c.slots.tryTake(peer) {
		other := c.replaceable(peer, isData)
		if other == nil {
			return errTooMany
		}
		c.free(other)
		patience := c.config.StallTimeout
		if len(c.established) >= c.config.MaxConnections+maxLeaving {
			patience = traffic.ClosePatience
		}
		go other.retire(patience)
	}
	delete(c.pending, conn)
	c.established[conn] = struct{}{}
	conn.placed, conn.peer, conn.buffers, conn.blocks = true, peer, c.buffers.of(peer), c.blocks.of(peer)
	conn.use()
	if isData {
		conn.preface = nil
		conn.session = c.begin(conn)
		c.sessions.Add(1)
	}
	conn.watchSilence()
	return nil
}

// watchSilence closes the connection if its client is gone, so that it takes neither gRPC's ping, which is sent after
// traffic.PingAfter, nor a message of a session. It does so earlier if the connection waits for its client, and closes
// a session that is idle.
func (c *peerConn) watchSilence() {
	stall, idle := c.owner.config.StallTimeout, c.owner.config.IdleTimeout
	c.watch = traffic.NewWatch(func() { c.retire(traffic.ClosePatience) })
	c.watch.Start(&traffic.Wait{Limit: min(stall, idle), IsOver: func(w *traffic.Watch) bool {
		limit := stall
		if c.session == nil && c.waiting.Load() == 0 {
			limit += traffic.PingAfter(stall)
		}
		since := time.Since(c.owner.start) - time.Duration(c.used.Load())
		return w.Own.See(c.progress()) >= limit || c.session != nil && c.calls.Load() == 0 && since >= idle
	}})
}

// progress returns a number that grows while the client does what the connection waits for. Any byte counts, in the
// direction that a session waits for.
func (c *peerConn) progress() int64 {
	received, sent := c.Traffic.Moved()
	if c.session != nil {
		switch toSend, toTake := c.session.Waits(); {
		case toSend:
			return received
		case toTake:
			return sent
		}
	}
	return received + sent
}

// free returns the place of a connection, once. mu is held.
func (c *connections) free(conn *peerConn) {
	if conn.placed {
		conn.placed = false
		c.slots.give(conn.peer)
	}
}

// use records the end of a call.
func (c *peerConn) use() { c.used.Store(int64(time.Since(c.owner.start))) }

// Close closes the connection, once, and removes it from its owner.
func (c *peerConn) Close() error {
	c.closeOnce.Do(func() {
		c.end()
		c.files.close()
		o := c.owner
		o.mu.Lock()
		delete(o.pending, c)
		admitted := c.watch != nil
		if admitted {
			c.watch.Stop()
		}
		o.mu.Unlock()
		c.closeErr = c.Conn.Close()
		if admitted && o.config.Observer.Disconnected != nil {
			o.config.Observer.Disconnected(c.RemoteAddr()) // before another connection gets its place
		}
		o.mu.Lock()
		delete(o.established, c)
		o.free(c)
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

// Clone returns c, because all connections of a server are counted together.
func (c *connections) Clone() credentials.TransportCredentials { return c }
