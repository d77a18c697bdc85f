package secureconn_test

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"culvert/internal/keyfile"
	"culvert/secureconn"
)

// shake runs the handshakes of both sides, and closes the network connection of the one that fails first.
func shake(client, server *secureconn.Conn) (clientErr, serverErr error) {
	var background sync.WaitGroup
	background.Go(func() {
		if serverErr = server.Handshake(); serverErr != nil {
			server.Close()
		}
	})
	if clientErr = client.Handshake(); clientErr != nil {
		client.Close()
	}
	background.Wait()
	return clientErr, serverErr
}

func TestWrongPin(t *testing.T) {
	for name, refused := range map[string]bool{"by the client": false, "by the server": true} {
		t.Run(name, func(t *testing.T) {
			a, b := tcpPair(t)
			forClient, forServer := configs()
			stranger := key(1)
			if refused {
				forServer.Peers = []string{fingerprintOf(key(3)), fingerprintOf(key(4))}
			} else {
				forClient.Peers = []string{fingerprintOf(key(3))}
				stranger = key(2)
			}
			client, server := secureconn.Client(a, forClient), secureconn.Server(b, forServer)
			defer client.Close()
			defer server.Close()
			finder, other := shake(client, server)
			if refused {
				finder, other = other, finder
			}
			var peer *secureconn.PeerError
			if !errors.As(finder, &peer) || peer.Fingerprint != fingerprintOf(stranger) {
				t.Errorf("the side that finds the peer wrong has the error %v", finder)
			}
			if !errors.Is(other, secureconn.ErrRefused) {
				t.Errorf("the side that is refused has the error %v", other)
			}
			if _, err := client.Write([]byte("x")); err == nil {
				t.Error("the client can write")
			}
			if _, err := server.Read(make([]byte, 1)); err == nil {
				t.Error("the server can read")
			}
			if client.Peer() != "" || server.Peer() != "" {
				t.Error("there is a peer without a handshake")
			}
		})
	}
}

// TestPlainTLS has peers that speak TLS, but not as they must.
func TestPlainTLS(t *testing.T) {
	for name, change := range map[string]func(*tls.Config){
		"no certificate": func(c *tls.Config) { c.Certificates = nil },
		"TLS 1.2": func(c *tls.Config) {
			c.MinVersion, c.MaxVersion, c.CurvePreferences = 0, tls.VersionTLS12, nil
		},
		"X25519 alone": func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519} },
		"no protocol":  func(c *tls.Config) { c.NextProtos = nil },
		"HTTP":         func(c *tls.Config) { c.NextProtos = []string{"h2"} },
	} {
		for side, isClient := range sides {
			t.Run(name+", with a "+side, func(t *testing.T) {
				here, there := tcpPair(t)
				defer there.Close()
				forClient, forServer := configs()
				var conn *secureconn.Conn
				own, peer := key(2), key(1)
				if isClient {
					conn = secureconn.Client(here, forClient)
				} else {
					conn = secureconn.Server(here, forServer)
					own, peer = peer, own
				}
				config := secondConfig(own)
				change(config)
				var background sync.WaitGroup
				background.Go(func() {
					_, _ = newSecond(there, own, peer, !isClient, config)
					there.Close()
				})
				if err := conn.Handshake(); err == nil {
					t.Error("the handshake went well")
				}
				if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
					t.Error("the connection can be read")
				}
				conn.Close()
				background.Wait()
			})
		}
	}
}

// TestBadAnswer has a server that says something else than that it accepts the client.
func TestBadAnswer(t *testing.T) {
	for _, answer := range []string{"\x00", "\x01\x01", "hello"} {
		here, there := net.Pipe()
		forClient, _ := configs()
		conn := secureconn.Client(here, forClient)
		var background sync.WaitGroup
		background.Go(func() {
			session := tls.Server(there, secondConfig(key(2)))
			_, _ = session.Write([]byte(answer))
			there.Close()
		})
		if err := conn.Handshake(); err == nil {
			t.Errorf("the answer %q is accepted", answer)
		}
		conn.Close()
		background.Wait()
	}
}

// TestSlowHandshake has a peer that says nothing, or a byte now and then. Time is that of the bubble.
func TestSlowHandshake(t *testing.T) {
	for side, isClient := range sides {
		for name, sends := range map[string]int{"nothing": 0, "a byte a second": 1} {
			t.Run(side+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					here, there := net.Pipe()
					forClient, forServer := configs()
					forClient.HandshakeTimeout, forServer.HandshakeTimeout = 20*time.Second, 20*time.Second
					conn := secureconn.Server(here, forServer)
					if isClient {
						conn = secureconn.Client(here, forClient)
					}
					var background sync.WaitGroup
					background.Go(func() { _, _ = io.Copy(io.Discard, there) })
					background.Go(func() {
						hello := append([]byte{22, 3, 1, 1, 0}, make([]byte, 256)...)
						for sends > 0 {
							if _, err := there.Write(hello[:1]); err != nil {
								return
							}
							hello = hello[1:]
							<-time.After(time.Second)
						}
					})
					start := time.Now()
					err := conn.Handshake()
					if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 20*time.Second {
						t.Errorf("after %v: %v", took, err)
					}
					conn.Close()
					there.Close()
					background.Wait()
				})
			})
		}
	}
}

func TestHandshakeIsCancelled(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	forClient, _ := configs()
	conn := secureconn.Client(here, forClient)
	defer conn.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no longer wanted")
	go func() {
		_, _ = there.Read(make([]byte, 1)) // the handshake is under way
		cancel(why)
	}()
	if err := conn.HandshakeContext(ctx); !errors.Is(err, why) {
		t.Errorf("the error is %v", err)
	}
	if err := conn.Handshake(); !errors.Is(err, why) {
		t.Errorf("the error of the next call is %v", err)
	}
}

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

// TestHandOver has the last message of the handshake and the first records come in one piece, and in pieces of every
// size.
func TestHandOver(t *testing.T) {
	stream := strings.Repeat("0123456789", 1000)
	t.Run("server to client", func(t *testing.T) {
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
	})
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

// pieces gives a few bytes at a time.
type pieces struct {
	net.Conn
	size int
}

func (p *pieces) Read(b []byte) (int, error) { return p.Conn.Read(b[:min(len(b), p.size)]) }

func TestBadConfig(t *testing.T) {
	peers := []string{fingerprintOf(key(2))}
	for name, config := range map[string]*secureconn.Config{
		"none":              nil,
		"no key":            {Peers: peers},
		"a short key":       {Key: key(1)[:32], Peers: peers},
		"no peers":          {Key: key(1)},
		"a short peer":      {Key: key(1), Peers: []string{peers[0][1:]}},
		"no base32":         {Key: key(1), Peers: []string{"0" + peers[0][1:]}},
		"not canonical":     {Key: key(1), Peers: []string{peers[0][:51] + "b"}},
		"an empty peer":     {Key: key(1), Peers: []string{peers[0], ""}},
		"a negative time":   {Key: key(1), Peers: peers, HandshakeTimeout: -1},
		"a peer with space": {Key: key(1), Peers: []string{peers[0] + " "}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := net.Pipe()
			defer b.Close()
			conn := secureconn.Client(a, config)
			if err := conn.Handshake(); err == nil || !strings.HasPrefix(err.Error(), "secureconn: ") {
				t.Errorf("the error is %v", err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			if _, err := secureconn.Listen("tcp", "127.0.0.1:0", config); err == nil {
				t.Error("Listen takes it")
			}
			if _, err := secureconn.Dial(t.Context(), "tcp", "127.0.0.1:0", config); err == nil {
				t.Error("Dial takes it")
			}
		})
	}
}

// TestFingerprint holds the fingerprint to that of identity files.
func TestFingerprint(t *testing.T) {
	for n := range byte(20) {
		public := key(n).Public().(ed25519.PublicKey)
		want, err := keyfile.Fingerprint(public)
		if err != nil {
			t.Fatal(err)
		}
		if got := secureconn.Fingerprint(public); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
