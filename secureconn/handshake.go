package secureconn

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"time"

	"culvert/internal/fingerprint"
)

// accepted is sent by the server as TLS application data once it has accepted the client.
const accepted = 0x01

// maxHandshake is how many bytes TLS may read. It needs about 2,500, but crypto/tls would store and parse certificates
// of 256 KiB from any client.
const maxHandshake = 16 << 10

// gate is the connection that TLS reads from. A Read returns at most the rest of one TLS record, so that what follows
// the last one stays in the batch, for the record layer.
type gate struct {
	net.Conn
	batch  *batch
	passed int     // bytes that were returned
	header [5]byte // of the TLS record: type, version, length
	got    int     // bytes of the header that were returned
	left   int     // bytes after the header that were not
}

// Read implements io.Reader.
func (g *gate) Read(p []byte) (int, error) {
	if p = p[:min(len(p), maxHandshake-g.passed)]; len(p) == 0 {
		return 0, errors.New("the peer sends too much")
	}
	if g.batch.next == g.batch.end {
		n, err := g.Conn.Read(g.batch.buf)
		g.batch.next, g.batch.end = 0, n
		if n == 0 {
			return 0, err
		}
	}
	if g.got == len(g.header) && g.left == 0 {
		g.got = 0
	}
	have := g.batch.buf[g.batch.next:g.batch.end]
	n := 0
	if g.got < len(g.header) {
		n = copy(p, have[:min(len(have), len(g.header)-g.got)])
		g.got += copy(g.header[g.got:], have[:n])
		if g.got == len(g.header) {
			g.left = int(binary.BigEndian.Uint16(g.header[3:]))
		}
	}
	if g.got == len(g.header) {
		more := copy(p[n:], have[n:min(len(have), n+g.left)])
		n, g.left = n+more, g.left-more
	}
	g.batch.next += n
	g.passed += n
	return n, nil
}

func (c *Conn) newGate() *gate {
	c.receiver.mu.Lock()
	defer c.receiver.mu.Unlock()
	return &gate{Conn: c.conn, batch: c.receiver.obtain(idleBatch)}
}

// handshake runs TLS and passes the connection to the record layer.
func (c *Conn) handshake(ctx context.Context) (err error) {
	if err := c.config.prepare(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.timeout())
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer c.endAtDeadline(end)()
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() }) // the cause of ctx is returned
	defer func() {
		if !stop() {
			err = fmt.Errorf("secureconn: handshake: %w", context.Cause(ctx))
		}
	}()

	g := c.newGate()
	var session *tls.Conn
	if c.isClient {
		session = tls.Client(g, c.config.tls)
	} else {
		session = tls.Server(g, c.config.tls)
	}
	if err := c.agree(session); err != nil {
		return handshakeError(err, c.config.own)
	}
	c.takeOver(g.batch)
	return nil
}

// handshakeLimit ends a handshake at the earlier deadline of the connection. The network ends only calls of its own
// direction then: a Read whose handshake waits to write would not end in time.
type handshakeLimit struct {
	read, write time.Time   // zero if there is none
	timer       *time.Timer // while a handshake runs
}

// set changes a deadline.
func (l *handshakeLimit) set(deadline *time.Time, t time.Time) {
	*deadline = t
	if l.timer != nil {
		l.start()
	}
}

// start sets the timer.
func (l *handshakeLimit) start() {
	l.timer.Stop()
	first := l.read
	if first.IsZero() || !l.write.IsZero() && l.write.Before(first) {
		first = l.write
	}
	if !first.IsZero() {
		l.timer.Reset(time.Until(first))
	}
}

// endAtDeadline calls end when a deadline passes, until done is called.
func (c *Conn) endAtDeadline(end context.CancelCauseFunc) (done func()) {
	c.closing.Lock()
	defer c.closing.Unlock()
	c.limit.timer = time.AfterFunc(math.MaxInt64, func() { end(os.ErrDeadlineExceeded) })
	c.limit.start()
	return func() {
		c.closing.Lock()
		defer c.closing.Unlock()
		c.limit.timer.Stop()
		c.limit.timer = nil
	}
}

// agree runs the TLS handshake and sets the keys of both directions.
func (c *Conn) agree(session *tls.Conn) error {
	if err := session.Handshake(); err != nil {
		return err
	}
	state := session.ConnectionState()
	peer, err := peerOf(state)
	if err != nil {
		return err
	}
	c.peer = peer.String()
	send, receive, first, second := labelClient, labelServer, c.config.own, peer
	if !c.isClient {
		send, receive, first, second = receive, send, second, first
	}
	context := slices.Concat(first[:], second[:])
	for _, way := range []struct {
		label string
		*direction
	}{{send, &c.sender.out}, {receive, &c.receiver.in}} {
		secret, err := state.ExportKeyingMaterial(way.label, context, secretSize)
		if err != nil {
			return err
		}
		way.newAEAD = newAEAD(state.CipherSuite)
		if err := way.start(secret); err != nil {
			return err
		}
	}
	return c.confirm(session)
}

// confirm tells the client that the server has accepted it.
func (c *Conn) confirm(session *tls.Conn) error {
	if !c.isClient {
		_, err := session.Write([]byte{accepted})
		return err
	}
	var answer [2]byte
	n, err := session.Read(answer[:])
	if err != nil {
		return err
	}
	if n != 1 || answer[0] != accepted {
		return errors.New("unexpected answer")
	}
	return nil
}

// takeOver passes what follows the last TLS record to the receiver.
func (c *Conn) takeOver(b *batch) {
	c.receiver.mu.Lock()
	defer c.receiver.mu.Unlock()
	b.end = copy(b.buf, b.buf[b.next:b.end])
	b.next = 0
	if b.end == 0 {
		c.receiver.release(b)
		return
	}
	c.receiver.partial = b
}

// handshakeError returns the error that callers see for a failure.
func handshakeError(err error, own fingerprint.Fingerprint) error {
	var peer *PeerError
	var remote *net.OpError
	switch {
	case errors.As(err, &peer):
		return err
	case errors.As(err, &remote) && remote.Op == "remote error":
		return fmt.Errorf("%w of %s: %w", ErrRefused, own, err)
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("secureconn: handshake: %w", err)
}
