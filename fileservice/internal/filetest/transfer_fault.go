package filetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"culvert/fileservice/client"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
	"culvert/secureconn"
)

// Ailing is a connection that gets a fault after a number of bytes, received or sent.
type Ailing struct {
	net.Conn
	left  *atomic.Int64
	fault fault

	slow atomic.Bool

	writing sync.Mutex
	held    []byte // that come after what is written next, or after holdTime
}

// holdTime is how long bytes are held if nothing is written after them.
const holdTime = 100 * time.Millisecond

// fault is applied once. p has the bytes after the limit that are being read or written.
type fault func(a *Ailing, p []byte) error

// errHeld: the bytes are written later.
var errHeld = errors.New("held")

func (a *Ailing) pass(p []byte) error {
	if left := a.left.Add(-int64(len(p))); left < 0 {
		if at := left + int64(len(p)); at >= 0 {
			return a.fault(a, p[at:])
		}
	}
	return nil
}

// slowRead is the number of bytes that a slow connection passes per millisecond.
const slowRead = 32 << 10

func (a *Ailing) Read(p []byte) (int, error) {
	if a.slow.Load() {
		<-time.NewTimer(time.Millisecond).C
		p = p[:min(len(p), slowRead)]
	}
	n, err := a.Conn.Read(p)
	if err != nil {
		return n, err
	}
	if err := a.pass(p[:n]); err != nil && err != errHeld {
		return n, err
	}
	return n, nil
}

func (a *Ailing) Write(p []byte) (int, error) {
	if a.slow.Load() && len(p) > slowRead {
		n, err := a.Write(p[:slowRead])
		if err != nil {
			return n, err
		}
		m, err := a.Write(p[slowRead:])
		return n + m, err
	}
	if a.slow.Load() {
		<-time.NewTimer(time.Millisecond).C
	}
	p = bytes.Clone(p)
	switch err := a.pass(p); {
	case err == errHeld:
		a.writing.Lock()
		defer a.writing.Unlock()
		a.held = p
		time.AfterFunc(holdTime, func() { _, _ = a.write(nil) }) // if it fails, so does what follows
		return len(p), nil
	case err != nil:
		return 0, err
	}
	return a.write(p)
}

// write writes bytes, and then those that were held.
func (a *Ailing) write(p []byte) (n int, err error) {
	a.writing.Lock()
	defer a.writing.Unlock()
	if len(p) > 0 {
		n, err = a.Conn.Write(p)
	}
	if a.held != nil && err == nil {
		_, err = a.Conn.Write(a.held)
		a.held = nil
	}
	return n, err
}

// TransferFaults returns all faults by name.
func TransferFaults() map[string]fault {
	return map[string]fault{
		"cut": func(a *Ailing, _ []byte) error { return errors.Join(net.ErrClosed, a.Conn.Close()) },
		"stall": func(a *Ailing, _ []byte) error {
			// The connection delivers nothing until it is closed.
			_, err := io.Copy(io.Discard, a.Conn)
			return errors.Join(net.ErrClosed, err)
		},
		"flip": func(_ *Ailing, p []byte) error {
			if len(p) > 0 {
				p[0] ^= 4
			}
			return nil
		},
		"slow": func(a *Ailing, _ []byte) error {
			a.slow.Store(true)
			return nil
		},
		"reorder": func(_ *Ailing, p []byte) error {
			// The bytes of two parts.
			half := len(p) / 2
			copy(p, append(bytes.Clone(p[half:]), p[:half]...))
			return nil
		},
		// What is written at once under encryption are whole records.
		"reorder records": func(*Ailing, []byte) error { return errHeld },
	}
}

// Soon is the timeout for connections that stall.
const Soon = 500 * time.Millisecond

// Impatient makes a server writable that soon gives up a connection whose client is silent: one that stalls on the way
// to the server still brings the client signs of life.
func Impatient(c *server.Config) { c.Writable, c.StallTimeout = true, 5*time.Second }

// Ail returns a client whose connections get a fault after offset bytes, once. They are encrypted if peer is not nil.
func Ail(
	t *testing.T, address string, peer *secureconn.Config, connections int, timeout time.Duration, offset int64,
	fault fault,
) *client.Client {
	t.Helper()
	var left atomic.Int64
	left.Store(offset)
	return Connect(t, client.Config{
		Connections: connections, Timeout: timeout,
		Dial: func(ctx context.Context) (net.Conn, error) {
			conn, err := Dialer(address)(ctx)
			if err != nil {
				return nil, err
			}
			conn = &Ailing{Conn: conn, left: &left, fault: fault}
			if peer == nil {
				return conn, nil
			}
			encrypted := secureconn.Client(conn, peer)
			if err := encrypted.HandshakeContext(ctx); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			return encrypted, nil
		},
	})
}

// severed is a connection that ends after a number of bytes, like all others that count them.
type severed struct {
	net.Conn
	left *atomic.Int64
}

func (s *severed) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err == nil && s.left.Add(-int64(n)) < 0 {
		return 0, errors.Join(net.ErrClosed, s.Conn.Close())
	}
	return n, err
}

func (s *severed) Write(p []byte) (int, error) {
	if s.left.Add(-int64(len(p))) < 0 {
		return 0, errors.Join(net.ErrClosed, s.Conn.Close())
	}
	return s.Conn.Write(p)
}

// Sever returns a client that does not reach the server any more after a number of bytes.
func Sever(t *testing.T, address string, bytes int64) *client.Client {
	t.Helper()
	var left atomic.Int64
	left.Store(bytes)
	return Connect(t, client.Config{
		Connections: 1,
		Dial: func(ctx context.Context) (net.Conn, error) {
			if left.Load() < 0 {
				return nil, net.ErrClosed
			}
			conn, err := Dialer(address)(ctx)
			return &severed{conn, &left}, err
		},
	})
}

// TransferFunc is transfer.Pull or transfer.Push, with the place of a client.
type TransferFunc func(context.Context, *client.Client, transfer.Config) (transfer.Result, error)

// Transfers returns both by name.
func Transfers() map[string]TransferFunc {
	return map[string]TransferFunc{
		"pull": func(ctx context.Context, c *client.Client, config transfer.Config) (transfer.Result, error) {
			return transfer.Pull(ctx, c.Place(), config)
		},
		"push": func(ctx context.Context, c *client.Client, config transfer.Config) (transfer.Result, error) {
			return transfer.Push(ctx, c.Place(), config)
		},
	}
}
