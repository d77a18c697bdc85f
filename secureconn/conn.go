package secureconn

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is an encrypted connection. It implements [net.Conn], [io.WriterTo] and [io.ReaderFrom]. Its methods may be
// called concurrently.
//
// A deadline that passes ends only the calls that wait for it: after a new deadline the connection continues. Any other
// error, and every error of the handshake, is returned by all later calls of the same direction. A handshake reads and
// writes, so a deadline of either direction ends it.
type Conn struct {
	conn     net.Conn
	config   *Config
	isClient bool

	shaking sync.Mutex // guards the fields up to ready
	failure error      // of the handshake
	peer    string
	ready   atomic.Bool // the handshake has succeeded; what it has set does not change

	closing  sync.Mutex // held to set isClosed, and to set a deadline unless isClosed
	isClosed atomic.Bool
	limit    handshakeLimit // guarded by closing

	sender   sender
	receiver receiver
}

var (
	_ net.Conn      = (*Conn)(nil)
	_ io.WriterTo   = (*Conn)(nil)
	_ io.ReaderFrom = (*Conn)(nil)
)

// Client returns a connection that encrypts conn, as the side that starts the handshake. The handshake runs in the
// first Read or Write, or in [Conn.HandshakeContext]. The Conn owns conn and closes it.
func Client(conn net.Conn, config *Config) *Conn { return newConn(conn, config, true) }

// Server is like [Client], for the other side.
func Server(conn net.Conn, config *Config) *Conn { return newConn(conn, config, false) }

func newConn(conn net.Conn, config *Config, isClient bool) *Conn {
	c := &Conn{conn: conn, config: config, isClient: isClient}
	c.sender.init(conn)
	c.receiver.init(conn, c.fail, &c.isClosed)
	c.sender.out.limit, c.sender.out.age = rekeyBytes, rekeyAge
	c.receiver.in.limit = maxBytes
	return c
}

// fail ends the sending half, with the calls that wait for the peer, after the receiving half has failed.
func (c *Conn) fail(err error) {
	_ = c.sender.fail(err)
	_ = c.conn.SetWriteDeadline(time.Unix(1, 0)) // the error is the one above
}

// Handshake calls [Conn.HandshakeContext] without a deadline.
func (c *Conn) Handshake() error { return c.HandshakeContext(context.Background()) }

// HandshakeContext runs the handshake, or returns its result if it has run. It ends with the cause of ctx when ctx is
// done, with [context.DeadlineExceeded] after [Config.HandshakeTimeout], and with [os.ErrDeadlineExceeded] when a
// deadline of the connection passes. After it returns, ctx has no effect. A failed handshake cannot be repeated: the
// caller closes the connection.
//
// The error is a [*PeerError] if this side does not accept the peer, and [ErrRefused] if the peer refuses.
func (c *Conn) HandshakeContext(ctx context.Context) error {
	if c.ready.Load() {
		return nil
	}
	c.shaking.Lock()
	defer c.shaking.Unlock()
	if c.ready.Load() || c.failure != nil {
		return c.failure
	}
	if c.failure = c.handshake(ctx); c.failure == nil {
		c.ready.Store(true)
	}
	return c.failure
}

// enter runs the handshake, unless the connection is closed.
func (c *Conn) enter() error {
	if c.isClosed.Load() {
		return net.ErrClosed
	}
	return c.leave(c.Handshake())
}

// leave returns the error of a call: net.ErrClosed instead of a network error once the connection is closed.
func (c *Conn) leave(err error) error {
	if err != nil && c.isClosed.Load() {
		return net.ErrClosed
	}
	return err
}

// Read implements [net.Conn]. It waits for at least one record, and reads as many as have arrived and fit. It opens
// records directly into p if p has room for a whole one, of at most 256 KiB. If p is empty, Read returns at once.
//
// The error is [io.EOF] only after the last byte of a stream that the peer has ended. It is [io.ErrUnexpectedEOF] if
// the connection ends before that, the error of the network if it breaks, and [ErrRecord] if a record is not
// authentic.
func (c *Conn) Read(p []byte) (int, error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil // also while another Read waits
	}
	n, err := c.receiver.read(p)
	return n, c.leave(err)
}

// WriteTo implements [io.WriterTo]: it writes the rest of the stream to w, without copying. As always, w must not
// change what it is given.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	n, err := c.receiver.writeTo(w)
	return n, c.leave(err)
}

// Write implements [net.Conn]. It returns when p is sealed, with at most 2 MiB still to be written; see the package
// comment. The result counts bytes that were sealed: after a deadline, the rest is written when the next deadline
// allows.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	n, err := c.sender.write(p)
	return n, c.leave(err)
}

// ReadFrom implements [io.ReaderFrom]: it sends what it reads from r, up to the end, as it arrives.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	n, err := c.sender.readFrom(r)
	return n, c.leave(err)
}

// WriteBuffers sends all slices of a list, in as few records as possible, and empties the list. It does what
// [net.Buffers.WriteTo] does for a connection without encryption.
func (c *Conn) WriteBuffers(list *net.Buffers) (int64, error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	n, err := c.sender.writeBuffers(list)
	return n, c.leave(err)
}

// CloseWrite ends the stream to the peer, which reads [io.EOF] after the last byte. It returns when everything is
// written. The other direction stays open.
func (c *Conn) CloseWrite() error {
	if err := c.enter(); err != nil {
		return err
	}
	return c.leave(c.sender.closeWrite())
}

// Close sends the bytes that are left, ends the stream to the peer, and closes the network connection. It fails if the
// peer takes less than 16 KiB in 5 seconds, or after 30 seconds. A program that has more to send to a slow peer calls
// [Conn.CloseWrite] first, which waits until the write deadline.
//
// Close interrupts calls in other goroutines. If one of them is sending, the stream is not ended, so the peer reads
// [io.ErrUnexpectedEOF]. Once Close has begun, all calls that fail return [net.ErrClosed], including a second Close,
// and Read returns no bytes that were received before.
//
// If Close succeeds, the peer may still not have everything. As always with TCP, the system even drops bytes on their
// way if the peer has sent bytes that were not read. To be certain, call CloseWrite and read to the end.
func (c *Conn) Close() error {
	c.closing.Lock()
	if c.isClosed.Swap(true) {
		c.closing.Unlock()
		return net.ErrClosed
	}
	_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // ends a Read, before the peer has taken what is sent
	c.closing.Unlock()
	if !c.ready.Load() {
		return c.conn.Close()
	}
	return c.sender.close(c.receiver.hasEnded)
}

// LocalAddr implements [net.Conn].
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr implements [net.Conn].
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// SetDeadline implements [net.Conn].
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements [net.Conn]. After Close it fails with [net.ErrClosed].
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.isClosed.Load() {
		return net.ErrClosed
	}
	if err := c.conn.SetReadDeadline(t); err != nil {
		return err
	}
	c.limit.set(&c.limit.read, t)
	return nil
}

// SetWriteDeadline implements [net.Conn]. After Close, which sets its own deadline, it fails with [net.ErrClosed].
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.isClosed.Load() {
		return net.ErrClosed
	}
	if err := c.conn.SetWriteDeadline(t); err != nil {
		return err
	}
	c.limit.set(&c.limit.write, t)
	nanoseconds := int64(0)
	if !t.IsZero() {
		nanoseconds = max(t.UnixNano(), 1)
	}
	c.sender.deadline.Store(nanoseconds)
	c.sender.resume()
	return nil
}

// NetConn returns the underlying connection. Reading, writing or setting deadlines on it breaks the Conn.
func (c *Conn) NetConn() net.Conn { return c.conn }

// Traffic returns how many bytes of records were received from the network and written to it. It shows that a peer is
// alive long before a record is complete, which takes half a minute at 64 kbit/s. Written bytes may still be queued by
// the system.
func (c *Conn) Traffic() (received, sent int64) { return c.receiver.arrived.Load(), c.sender.written() }

// Peer returns the fingerprint of the peer, or "" before the handshake has succeeded.
func (c *Conn) Peer() string {
	if !c.ready.Load() {
		return ""
	}
	return c.peer
}

// Stats are counters of a connection, from the end of its handshake. Bytes are plaintext, without headers and tags.
type Stats struct {
	BytesSent, BytesReceived     int64
	RecordsSent, RecordsReceived int64
	RekeysSent, RekeysReceived   int64
}

// Stats returns the current counters.
func (c *Conn) Stats() Stats {
	out, in := &c.sender.out, &c.receiver.in
	return Stats{
		BytesSent: out.bytes.Load(), BytesReceived: in.bytes.Load(),
		RecordsSent: out.records.Load(), RecordsReceived: in.records.Load(),
		RekeysSent: out.rekeys.Load(), RekeysReceived: in.rekeys.Load(),
	}
}
