package secureconn_test

import (
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"culvert/secureconn"
)

// cutter lets a number of bytes of the peer through and then closes the connection.
type cutter struct {
	net.Conn
	left int
}

func (c *cutter) Read(p []byte) (int, error) {
	if c.left == 0 {
		c.Conn.Close()
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// TestCutHandshake cuts a handshake behind each byte that one side gets.
func TestCutHandshake(t *testing.T) {
	for side, isClient := range sides {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			cut := func(at int) error {
				a, b := net.Pipe()
				forClient, forServer := configs()
				var here, there *secureconn.Conn
				if isClient {
					here, there = secureconn.Client(&cutter{a, at}, forClient), secureconn.Server(b, forServer)
				} else {
					here, there = secureconn.Server(&cutter{a, at}, forServer), secureconn.Client(b, forClient)
				}
				var background sync.WaitGroup
				background.Go(func() {
					_ = there.Handshake()
					b.Close()
				})
				err := here.Handshake()
				here.Close()
				background.Wait()
				return err
			}
			at, step := 0, 1
			if raceEnabled {
				step = 17
			}
			for ; cut(at) != nil; at += step {
				if at > 100_000 {
					t.Fatal("the handshake never goes well")
				}
			}
			if at < 1000 {
				t.Errorf("the handshake went well with %d bytes", at)
			}
		})
	}
}

// collector holds back what is written until it is let go, and then writes it in one piece.
type collector struct {
	net.Conn
	mu   sync.Mutex
	held []byte
	hold bool

	onRead func()
}

func (c *collector) Read(p []byte) (int, error) {
	if c.onRead != nil {
		c.onRead()
	}
	return c.Conn.Read(p)
}

func (c *collector) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hold {
		return c.Conn.Write(p)
	}
	c.held = append(c.held, p...)
	return len(p), nil
}

func (c *collector) letGo() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold = false
	_, err := c.Conn.Write(c.held)
	return err
}

// TestHandOverToClient has the last message of the handshake and the first records come to a client in one piece.
func TestHandOverToClient(t *testing.T) {
	stream := strings.Repeat("0123456789", 1000)
	here, there := net.Pipe()
	held := &collector{Conn: there}
	forClient, _ := configs()
	conn := secureconn.Client(here, forClient)
	var background sync.WaitGroup
	background.Go(func() {
		other, err := newSecondAfter(held, key(2), key(1), func() { held.hold = true })
		if err != nil {
			t.Error(err)
			return
		}
		for len(stream) > 0 {
			n := min(777, len(stream))
			other.put(t, other.send.seal(1, []byte(stream[:n])))
			stream = stream[n:]
		}
		other.put(t, other.send.seal(3, nil))
		if err := held.letGo(); err != nil {
			t.Error(err)
		}
	})
	got, err := io.ReadAll(conn)
	if want := strings.Repeat("0123456789", 1000); err != nil || string(got) != want {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	background.Wait()
	there.Close()
	conn.Close()
}

// TestHandOverToServer has them come to a server in one piece, from a client that does not wait until it is accepted.
func TestHandOverToServer(t *testing.T) {
	here, there := net.Pipe()
	held := &collector{Conn: there}
	_, forServer := configs()
	conn := secureconn.Server(here, forServer)
	var background sync.WaitGroup
	background.Go(func() {
		send, err := hastyClient(held, key(1), key(2))
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = held.Write(append(send.seal(1, []byte("at once")), send.seal(3, nil)...))
		background.Go(func() { _, _ = io.Copy(io.Discard, there) })
		if err := held.letGo(); err != nil {
			t.Error(err)
		}
	})
	if got, err := io.ReadAll(conn); err != nil || string(got) != "at once" {
		t.Errorf("read %q, %v", got, err)
	}
	conn.Close()
	there.Close()
	background.Wait()
}

// TestHandOverInPieces has them come in pieces of every size.
func TestHandOverInPieces(t *testing.T) {
	for _, size := range []int{1, 2, 3, 5, 7, 64, 1000} {
		a, b := net.Pipe()
		forClient, forServer := configs()
		client := secureconn.Client(&pieces{a, size}, forClient)
		server := secureconn.Server(&pieces{b, size}, forServer)
		var background sync.WaitGroup
		background.Go(func() {
			_, err := server.Write([]byte("hello, client"))
			got, readErr := io.ReadAll(server)
			if err := errors.Join(err, readErr, server.Close()); err != nil || string(got) != "hello, server" {
				t.Errorf("pieces of %d bytes: the server has read %q, %v", size, got, err)
			}
		})
		got := make([]byte, len("hello, client"))
		_, err := io.ReadFull(client, got)
		_, writeErr := client.Write([]byte("hello, server"))
		if err := errors.Join(err, writeErr, client.CloseWrite()); err != nil || string(got) != "hello, client" {
			t.Errorf("pieces of %d bytes: the client has read %q, %v", size, got, err)
		}
		if n, err := client.Read(got); n != 0 || err != io.EOF {
			t.Errorf("pieces of %d bytes: at the end %d, %v", size, n, err)
		}
		background.Wait()
		client.Close()
	}
}

// newSecondAfter is newSecond for a server that calls before before it answers.
func newSecondAfter(conn net.Conn, own, peer ed25519.PrivateKey, before func()) (*second, error) {
	s := &second{conn: conn, session: tls.Server(slowly{conn}, secondConfig(own))}
	if err := s.session.Handshake(); err != nil {
		return nil, err
	}
	before()
	state := s.session.ConnectionState()
	secret, err := state.ExportKeyingMaterial("EXPORTER-culvert-conn/1 server", append(spki(peer), spki(own)...), 32)
	if err != nil {
		return nil, err
	}
	s.send = newChain(secret, state.CipherSuite == tls.TLS_CHACHA20_POLY1305_SHA256)
	_, err = s.session.Write([]byte{1})
	return s, err
}

// hastyClient shakes hands over held, which holds back all but the first message.
func hastyClient(held *collector, own, peer ed25519.PrivateKey) (*chain, error) {
	session := tls.Client(slowly{held}, secondConfig(own))
	held.onRead = func() { held.hold = true }
	if err := session.Handshake(); err != nil {
		return nil, err
	}
	state := session.ConnectionState()
	secret, err := state.ExportKeyingMaterial("EXPORTER-culvert-conn/1 client", append(spki(own), spki(peer)...), 32)
	return newChain(secret, state.CipherSuite == tls.TLS_CHACHA20_POLY1305_SHA256), err
}

// pieces returns a few bytes at a time.
type pieces struct {
	net.Conn
	size int
}

func (p *pieces) Read(b []byte) (int, error) { return p.Conn.Read(b[:min(len(b), p.size)]) }
