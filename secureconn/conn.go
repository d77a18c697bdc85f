package secureconn

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is an encrypted connection. It implements [net.Conn], [io.WriterTo] and [io.ReaderFrom]. All its methods may be
// called at once.
//
// A deadline that passes ends the calls that wait for it and nothing else: with a new one the connection goes on. Any
// other error, and that of a handshake, is the answer to all calls of the same direction from then on.
type Conn struct {
	conn     net.Conn
	config   *Config
	isClient bool

	shaking sync.Mutex // guards what is below, up to ready
	failure error      // of the handshake
	peer    string
	ready   atomic.Bool // the handshake is done, and what it has set does not change

	closing  sync.Mutex // guards that nobody sets isClosed twice, or a deadline that Close has not set
	isClosed atomic.Bool

	sender   sender
	receiver receiver
}

var (
	_ net.Conn      = (*Conn)(nil)
	_ io.WriterTo   = (*Conn)(nil)
	_ io.ReaderFrom = (*Conn)(nil)
)

// Client makes a connection that encrypts conn, as the side that speaks first in the handshake. The handshake is done
// by the first Read or Write, or by [Conn.HandshakeContext].
//
// From now on nothing else may use conn, which the Conn closes.
func Client(conn net.Conn, config *Config) *Conn { return newConn(conn, config, true) }

// Server makes a connection that encrypts conn, as the side that a [Client] is at the other end of. See there.
func Server(conn net.Conn, config *Config) *Conn { return newConn(conn, config, false) }

func newConn(conn net.Conn, config *Config, isClient bool) *Conn {
	c := &Conn{conn: conn, config: config, isClient: isClient}
	c.sender.init(conn)
	c.receiver.init(conn, c.fail, &c.isClosed)
	c.sender.out.limit, c.sender.out.age = rekeyBytes, rekeyAge
	c.receiver.in.limit = maxBytes
	return c
}

// fail ends the sending half too, with the calls that wait for a peer to take what they send: what has come is not
// authentic.
func (c *Conn) fail(err error) {
	_ = c.sender.fail(err)
	_ = c.conn.SetWriteDeadline(time.Unix(1, 0)) // the error is the one above
}

// Handshake runs the handshake if that has not been done. See [Conn.HandshakeContext].
func (c *Conn) Handshake() error { return c.HandshakeContext(context.Background()) }

// HandshakeContext runs the handshake if that has not been done, and otherwise gives its result. It ends with the
// cause of ctx when that is done, and with [context.DeadlineExceeded] after [Config.HandshakeTimeout]; ctx plays no
// part afterwards. A handshake that has failed cannot be tried again, and the caller closes the connection.
//
// Errors are a [*PeerError] if the peer is not one of those in the Config, and [ErrRefused] if the peer has ended it.
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

// enter shakes hands, unless the connection is closed.
func (c *Conn) enter() error {
	if c.isClosed.Load() {
		return net.ErrClosed
	}
	return c.leave(c.Handshake())
}

// leave returns the error of a call: net.ErrClosed once the connection is closed, and not what the network reports
// then.
func (c *Conn) leave(err error) error {
	if err != nil && c.isClosed.Load() {
		return net.ErrClosed
	}
	return err
}

// Read implements [net.Conn]. It waits for one record at least, and gives as many of those that have come as fit. It
// opens them straight into p if p has room for a whole one, which is up to 256 KiB. A p of no bytes gives 0 at once.
//
// The error is [io.EOF] after the last byte of a stream that the peer has ended, and nowhere else. It is
// [io.ErrUnexpectedEOF] if the connection ends without that, that of the network if it was broken off, and
// [ErrRecord] if what came is not what the peer has sent.
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

// WriteTo implements [io.WriterTo]: it writes all that comes to w, up to the end of the stream. What w gets is not
// copied for it, and w must not change it.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	n, err := c.receiver.writeTo(w)
	return n, c.leave(err)
}

// Write implements [net.Conn]. It returns when p is sealed, and written up to a bound; see the package comment. The
// number of bytes counts what was sealed: with a deadline, the rest of it is written when the next deadline allows.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	n, err := c.sender.write(p)
	return n, c.leave(err)
}

// ReadFrom implements [io.ReaderFrom]: it sends what r has, up to the end, as it comes.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	n, err := c.sender.readFrom(r)
	return n, c.leave(err)
}

// WriteBuffers sends all slices of a list, in as few records as they fit into, and empties it. It is what
// [net.Buffers.WriteTo] is for a connection without encryption.
func (c *Conn) WriteBuffers(list *net.Buffers) (int64, error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	n, err := c.sender.writeBuffers(list)
	return n, c.leave(err)
}

// CloseWrite ends the stream to the peer, who reads [io.EOF] after the last byte. It returns when everything is
// written. The other direction goes on.
func (c *Conn) CloseWrite() error {
	if err := c.enter(); err != nil {
		return err
	}
	return c.leave(c.sender.closeWrite())
}

// Close sends the bytes that are left, ends the stream to the peer, and closes the network connection. It waits for the
// peer to take them, at most 30 seconds in all. If the peer takes less than 16 KiB in 5 seconds, or the 30 seconds have
// passed, it gives up with an error. A program that has more to send to a slow peer calls [Conn.CloseWrite] first,
// which waits until the deadline for writes.
//
// Close cuts off calls that are under way in other goroutines. If one of them is sending, the stream is not ended, so
// that the peer reads [io.ErrUnexpectedEOF]. From the beginning of Close on, all calls that fail return
// [net.ErrClosed], a second Close too, and Read returns no bytes that were received before.
//
// That Close has no error does not mean that the peer has everything. As always with TCP, the system even drops what is
// on its way if the peer has sent bytes that nobody has read. Who has to know calls CloseWrite and reads up to the end.
func (c *Conn) Close() error {
	c.closing.Lock()
	if c.isClosed.Swap(true) {
		c.closing.Unlock()
		return net.ErrClosed
	}
	_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // ends the Read that waits, before the peer has taken what is sent
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

// SetReadDeadline implements [net.Conn]. After Close it is [net.ErrClosed].
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.isClosed.Load() {
		return net.ErrClosed
	}
	return c.conn.SetReadDeadline(t)
}

// SetWriteDeadline implements [net.Conn]. After Close, which sets its own, it is [net.ErrClosed].
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.isClosed.Load() {
		return net.ErrClosed
	}
	if err := c.conn.SetWriteDeadline(t); err != nil {
		return err
	}
	nanoseconds := int64(0)
	if !t.IsZero() {
		nanoseconds = max(t.UnixNano(), 1)
	}
	c.sender.deadline.Store(nanoseconds)
	c.sender.resume()
	return nil
}

// NetConn gives the connection that is encrypted. To read from it, write to it or set its deadlines breaks the Conn.
func (c *Conn) NetConn() net.Conn { return c.conn }

// Traffic returns how many bytes of records, whole or in part, were received from the network and written to it. It
// shows that a peer is there long before a record is complete: on a line of 64 kbit/s one takes half a minute. Written
// bytes may still be in a queue of the system.
func (c *Conn) Traffic() (received, sent int64) { return c.receiver.arrived.Load(), c.sender.written() }

// Peer gives the fingerprint of the peer, or "" before the handshake is done.
func (c *Conn) Peer() string {
	if !c.ready.Load() {
		return ""
	}
	return c.peer
}

// Stats are counters of a connection, from its handshake on. Bytes are those of the caller, without headers and tags.
type Stats struct {
	BytesSent, BytesReceived     int64
	RecordsSent, RecordsReceived int64
	RekeysSent, RekeysReceived   int64
}

// Stats gives the counters as they are now.
func (c *Conn) Stats() Stats {
	out, in := &c.sender.out, &c.receiver.in
	return Stats{
		BytesSent: out.bytes.Load(), BytesReceived: in.bytes.Load(),
		RecordsSent: out.records.Load(), RecordsReceived: in.records.Load(),
		RekeysSent: out.rekeys.Load(), RekeysReceived: in.rekeys.Load(),
	}
}
