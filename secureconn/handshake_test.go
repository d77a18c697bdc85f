package secureconn_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// TestAuthorize asks at each handshake, on either side, and refuses as the list does.
func TestAuthorize(t *testing.T) {
	reason := errors.New("revoked")
	for name, byServer := range map[string]bool{"by the client": false, "by the server": true} {
		t.Run(name, func(t *testing.T) {
			forClient, forServer := configs()
			decider, other := forClient, key(2)
			if byServer {
				decider, other = forServer, key(1)
			}
			var asked []string
			var decision error
			decider.Peers = nil
			decider.Authorize = func(fingerprint string) error {
				asked = append(asked, fingerprint)
				return decision
			}
			handshakes := func() (deciding, refused error) {
				a, b := tcpPair(t)
				client, server := secureconn.Client(a, forClient), secureconn.Server(b, forServer)
				defer client.Close()
				defer server.Close()
				clientErr, serverErr := shake(client, server)
				if byServer {
					return serverErr, clientErr
				}
				return clientErr, serverErr
			}
			if one, two := handshakes(); one != nil || two != nil {
				t.Fatalf("an accepted peer: %v, %v", one, two)
			}
			decision = reason
			err, refused := handshakes()
			var peer *secureconn.PeerError
			if !errors.As(err, &peer) || peer.Fingerprint != fingerprintOf(other) || !errors.Is(err, reason) {
				t.Errorf("the deciding side has the error %v", err)
			}
			if !errors.Is(refused, secureconn.ErrRefused) {
				t.Errorf("the refused side has the error %v", refused)
			}
			if len(asked) != 2 || asked[0] != fingerprintOf(other) || asked[1] != asked[0] {
				t.Errorf("it was asked about %q", asked)
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
		"version 2":    func(c *tls.Config) { c.NextProtos = []string{"culvert-conn/2"} },
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

// TestDeadlineOfHandshake has either deadline pass while the handshake waits to read, or to write. Time is that of the
// bubble.
func TestDeadlineOfHandshake(t *testing.T) {
	deadlines := map[string]func(*secureconn.Conn, time.Time) error{
		"read deadline":  (*secureconn.Conn).SetReadDeadline,
		"write deadline": (*secureconn.Conn).SetWriteDeadline,
	}
	calls := map[string]func(*secureconn.Conn) (int, error){
		"Read":  func(c *secureconn.Conn) (int, error) { return c.Read(make([]byte, 1)) },
		"Write": func(c *secureconn.Conn) (int, error) { return c.Write(make([]byte, 1)) },
	}
	for side, isClient := range sides {
		for name, set := range deadlines {
			for method, call := range calls {
				for peer, reads := range map[string]bool{"reads": true, "does not read": false} {
					for _, early := range []bool{true, false} {
						t.Run(side+", "+name+", "+method+", peer "+peer, func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) {
								endsByDeadline(t, isClient, reads, early, set, call)
							})
						})
					}
				}
			}
		}
	}
}

// endsByDeadline has a deadline that is set before or during the handshake end a call.
func endsByDeadline(t *testing.T, isClient, reads, early bool,
	set func(*secureconn.Conn, time.Time) error, call func(*secureconn.Conn) (int, error),
) {
	here, there := net.Pipe()
	forClient, forServer := configs()
	conn := secureconn.Server(here, forServer)
	if isClient {
		conn = secureconn.Client(here, forClient)
	}
	var background sync.WaitGroup
	if reads {
		background.Go(func() { _, _ = io.Copy(io.Discard, there) })
	}
	start := time.Now()
	limit := func() {
		if err := set(conn, start.Add(time.Second)); err != nil {
			t.Error(err)
		}
	}
	if early {
		limit()
	} else {
		background.Go(func() {
			<-time.After(time.Second / 2)
			limit()
		})
	}
	_, err := call(conn)
	if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	conn.Close()
	there.Close()
	background.Wait()
}

// TestDeadlineIsPutOff has a deadline that is moved, or removed, in time.
func TestDeadlineIsPutOff(t *testing.T) {
	for name, later := range map[string]time.Duration{"moved": time.Minute, "removed": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := net.Pipe()
				forClient, forServer := configs()
				client, server := secureconn.Client(a, forClient), secureconn.Server(b, forServer)
				deadline := time.Time{}
				if later > 0 {
					deadline = time.Now().Add(later)
				}
				if err := client.SetDeadline(time.Now().Add(time.Second)); err != nil {
					t.Error(err)
				}
				var background sync.WaitGroup
				background.Go(func() {
					<-time.After(time.Second / 2)
					if err := client.SetDeadline(deadline); err != nil {
						t.Error(err)
					}
					<-time.After(time.Second)
					if err := server.Handshake(); err != nil {
						t.Error(err)
					}
				})
				if err := client.Handshake(); err != nil {
					t.Error(err)
				}
				background.Wait()
				client.Close()
				server.Close()
			})
		})
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
