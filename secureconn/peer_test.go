package secureconn_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base32"
	"errors"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"culvert/secureconn"
)

// TestForgeryEndsWrites has a forged record come while a Write waits for the peer, who takes nothing. It must not wait
// on.
func TestForgeryEndsWrites(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "large": 4 << 20} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, other := withSecond(t, true)
				var background sync.WaitGroup
				background.Go(func() {
					if _, err := conn.Write(make([]byte, size)); !errors.Is(err, secureconn.ErrRecord) {
						t.Errorf("the error of Write is %v", err)
					}
				})
				background.Go(func() {
					if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, secureconn.ErrRecord) {
						t.Errorf("the error of Read is %v", err)
					}
				})
				synctest.Wait()
				other.put(t, make([]byte, 100))
				background.Wait()
			})
		})
	}
}

// TestOtherKinds has a peer with a key that is listed, but is not one of Ed25519.
func TestOtherKinds(t *testing.T) {
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, other.Public(), other)
	if err != nil {
		t.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(other.Public())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(spki)
	listed := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
	config := secondConfig(key(1))
	config.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: other}}
	for side, isClient := range sides {
		t.Run(side, func(t *testing.T) {
			here, there := net.Pipe()
			conn := secureconn.Server(here, &secureconn.Config{Key: key(2), Peers: []string{listed}})
			session := tls.Client(there, config)
			if isClient {
				conn = secureconn.Client(here, &secureconn.Config{Key: key(2), Peers: []string{listed}})
				session = tls.Server(there, config)
			}
			var background sync.WaitGroup
			background.Go(func() {
				_, _ = io.Copy(io.Discard, session)
				there.Close()
			})
			if err := conn.Handshake(); err == nil || !strings.Contains(err.Error(), "Ed25519") {
				t.Errorf("the error is %v", err)
			}
			conn.Close()
			background.Wait()
		})
	}
}

// TestLongHandshake has somebody send certificates that crypto/tls would keep, and look into, before it asks for the
// fingerprint.
func TestLongHandshake(t *testing.T) {
	config := secondConfig(key(1))
	chain := &config.Certificates[0].Certificate
	for range 100 {
		*chain = append(*chain, (*chain)[0])
	}
	here, there := net.Pipe()
	_, forServer := configs()
	network := &wire{Conn: here, offset: -1}
	conn := secureconn.Server(network, forServer)
	var background sync.WaitGroup
	background.Go(func() {
		_, _ = newSecond(there, key(1), key(2), true, config)
		there.Close()
	})
	if err := conn.Handshake(); err == nil || !strings.Contains(err.Error(), "too much") {
		t.Errorf("the error is %v", err)
	}
	conn.Close()
	background.Wait()
	if network.done > 2*secureconn.MaxHandshake {
		t.Errorf("%d bytes were taken", network.done)
	}
}

// pending counts the calls of Read that wait.
type pending struct {
	net.Conn
	reads atomic.Int32
}

func (p *pending) Read(b []byte) (int, error) {
	p.reads.Add(1)
	defer p.reads.Add(-1)
	return p.Conn.Read(b)
}

// TestNothingBehindTheEnd has a peer go on behind the end of its stream. Nobody waits for more of it.
func TestNothingBehindTheEnd(t *testing.T) {
	for name, behind := range map[string]int{"nothing": 0, "a record": 10, "many bytes": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var network *pending
				conn, other := withSecondOver(t, true, func(testing.TB) (net.Conn, net.Conn) {
					here, there := net.Pipe()
					network = &pending{Conn: here}
					return network, there
				})
				stream := append(other.send.seal(1, noise(200_000)), other.send.seal(3, nil)...)
				if behind > 0 {
					stream = append(stream, other.send.seal(1, noise(behind)[:min(behind, 200_000)])...)
				}
				var background sync.WaitGroup
				background.Go(func() { other.put(t, stream) })
				if n, err := io.Copy(io.Discard, conn); n != 200_000 || err != nil {
					t.Errorf("read %d bytes, %v", n, err)
				}
				synctest.Wait()
				if n := network.reads.Load(); n != 0 {
					t.Error("somebody reads behind the end")
				}
				other.conn.Close()
				background.Wait()
			})
		})
	}
}

// TestClientStaysUnknown has a server that is not listed ask for the certificate of a client, and not get it.
func TestClientStaysUnknown(t *testing.T) {
	for name, change := range map[string]func(*tls.Config){
		"another key":      func(c *tls.Config) { c.Certificates[0] = certificate(key(3)) },
		"another protocol": func(c *tls.Config) { c.NextProtos = nil },
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			forClient, _ := configs()
			conn := secureconn.Client(here, forClient)
			config := secondConfig(key(2))
			config.VerifyConnection = func(tls.ConnectionState) error {
				t.Error("the client has shown its certificate")
				return nil
			}
			change(config)
			var background sync.WaitGroup
			background.Go(func() {
				if err := tls.Server(there, config).Handshake(); err == nil {
					t.Error("the handshake of the server went well")
				}
				there.Close()
			})
			if err := conn.Handshake(); err == nil {
				t.Error("the handshake went well")
			}
			conn.Close()
			background.Wait()
		})
	}
}

// TestBrokenOff has the network break a connection off behind each byte of a stream, with what TCP calls a reset.
func TestBrokenOff(t *testing.T) {
	for at := range 5*24 + len(exchanged) {
		conn, other := withSecondOver(t, at%2 == 0, tcpPair)
		other.put(t, slices.Concat(exchange(other.send)...)[:at])
		if err := other.conn.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		other.conn.Close()
		got, err := io.ReadAll(conn)
		if err == nil || !strings.HasPrefix(exchanged, string(got)) {
			t.Errorf("broken off at %d: read %q, %v", at, got, err)
		}
		if _, err := conn.Write(make([]byte, 100)); err == nil {
			t.Errorf("broken off at %d: Write went well", at)
		}
		conn.Close()
	}
}
