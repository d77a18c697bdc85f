package secureconn_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"culvert/secureconn"
)

// wire is the way from a peer. It calls at when it has let that many bytes through, and may change them.
type wire struct {
	net.Conn
	done   int
	offset int
	at     func(p []byte) // with the byte at offset as the first one
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if w.done <= w.offset && w.offset < w.done+n {
		w.at(p[w.offset-w.done : n])
	}
	w.done += n
	return n, err
}

// handshakeBytes counts the bytes that come to a client and to a server in a handshake.
func handshakeBytes(t *testing.T) map[string]int {
	a, b := net.Pipe()
	toClient, toServer := &wire{Conn: a, offset: -1}, &wire{Conn: b, offset: -1}
	forClient, forServer := configs()
	client, server := secureconn.Client(toClient, forClient), secureconn.Server(toServer, forServer)
	if clientErr, serverErr := shake(client, server); clientErr != nil || serverErr != nil {
		t.Fatal(clientErr, serverErr)
	}
	a.Close()
	b.Close()
	return map[string]int{"client": toClient.done, "server": toServer.done}
}

// tampered makes a pair of which one side gets its bytes over a wire.
func tampered(side string, offset int, at func(p []byte)) (client, server *secureconn.Conn) {
	a, b := net.Pipe()
	if side == "client" {
		a = &wire{Conn: a, offset: offset, at: at}
	} else {
		b = &wire{Conn: b, offset: offset, at: at}
	}
	forClient, forServer := configs()
	if side == "client" { // the other one is more patient
		forServer.HandshakeTimeout = time.Minute
	} else {
		forClient.HandshakeTimeout = time.Minute
	}
	return secureconn.Client(a, forClient), secureconn.Server(b, forServer)
}

// everyStep is how many bytes a test that goes through a handshake skips.
func everyStep() int {
	if raceEnabled || testing.Short() {
		return 61
	}
	return 5
}

// TestTamperedHandshake flips a bit of a handshake. Either a side notices it, or it was none that counts, such as one
// of the version that TLS no longer reads, and then both go on as if nothing had happened.
func TestTamperedHandshake(t *testing.T) {
	for side, length := range handshakeBytes(t) {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			var unnoticed []int
			for offset := 0; offset < length; offset += everyStep() {
				// A length that is greater now has TLS wait for bytes that do not come. Time is that of the bubble.
				synctest.Test(t, func(t *testing.T) {
					client, server := tampered(side, offset, func(p []byte) { p[0] ^= 1 << (offset % 8) })
					clientErr, serverErr := shake(client, server)
					if clientErr == nil && serverErr == nil {
						unnoticed = append(unnoticed, offset)
						exchangeHello(t, client, server)
					}
					if clientErr == nil && serverErr != nil {
						t.Errorf("byte %d: only the client goes on, the error of the server is %v", offset, serverErr)
					}
					client.Close()
					server.Close()
				})
			}
			if len(unnoticed) > 12 {
				t.Errorf("changes of the bytes %d were not noticed", unnoticed)
			}
		})
	}
}

// exchangeHello sends a word in both directions.
func exchangeHello(t *testing.T, client, server *secureconn.Conn) {
	t.Helper()
	var background sync.WaitGroup
	for _, pair := range [][2]*secureconn.Conn{{client, server}, {server, client}} {
		background.Go(func() {
			if _, err := pair[0].Write([]byte("hello")); err != nil {
				t.Error(err)
			}
		})
		got := make([]byte, 5)
		if _, err := io.ReadFull(pair[1], got); err != nil || string(got) != "hello" {
			t.Errorf("read %q, %v", got, err)
		}
		background.Wait()
	}
}

// TestReflectedHandshake has somebody send back to each side what it sends, also if it lists itself.
func TestReflectedHandshake(t *testing.T) {
	for side, isClient := range sides {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				config := &secureconn.Config{Key: key(1), Peers: []string{fingerprintOf(key(1))}}
				conn := secureconn.Server(here, config)
				if isClient {
					conn = secureconn.Client(here, config)
				}
				var background sync.WaitGroup
				background.Go(func() { _, _ = io.Copy(there, bufio.NewReaderSize(there, 1<<20)) })
				if err := conn.Handshake(); err == nil {
					t.Error("the handshake went well")
				}
				conn.Close()
				there.Close()
				background.Wait()
			})
		})
	}
}

// TestReplayedHandshake has somebody repeat to each side what it was sent before.
func TestReplayedHandshake(t *testing.T) {
	var toClient, toServer bytes.Buffer
	a, b := net.Pipe()
	forClient, forServer := configs()
	client := secureconn.Client(&tap{a, &toClient}, forClient)
	server := secureconn.Server(&tap{b, &toServer}, forServer)
	if clientErr, serverErr := shake(client, server); clientErr != nil || serverErr != nil {
		t.Fatal(clientErr, serverErr)
	}
	exchangeHello(t, client, server)
	a.Close()
	b.Close()
	for side, isClient := range sides {
		t.Run(side, func(t *testing.T) {
			here, there := net.Pipe()
			conn, recorded := secureconn.Server(here, forServer), toServer.Bytes()
			if isClient {
				conn, recorded = secureconn.Client(here, forClient), toClient.Bytes()
			}
			var background sync.WaitGroup
			background.Go(func() { _, _ = io.Copy(io.Discard, there) })
			background.Go(func() {
				_, _ = there.Write(recorded)
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

// tap records what is read.
type tap struct {
	net.Conn
	to io.Writer
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	_, _ = t.to.Write(p[:n]) // it is a buffer
	return n, err
}

// fragments writes each message of TLS that is not encrypted in records of one byte.
type fragments struct{ net.Conn }

func (f fragments) Write(p []byte) (int, error) {
	var out []byte
	for rest := p; len(rest) > 0; {
		record := rest[:5+int(rest[3])<<8+int(rest[4])]
		rest = rest[len(record):]
		if record[0] != tlsHandshake {
			out = append(out, record...)
			continue
		}
		for _, b := range record[5:] {
			out = append(out, tlsHandshake, 3, 3, 0, 1, b)
		}
	}
	if _, err := f.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// TestFragmentedHandshake has the first messages come a byte at a time, each in a record of its own, as TLS allows.
func TestFragmentedHandshake(t *testing.T) {
	a, b := net.Pipe()
	forClient, forServer := configs()
	client := secureconn.Client(fragments{a}, forClient)
	server := secureconn.Server(fragments{b}, forServer)
	if clientErr, serverErr := shake(client, server); clientErr != nil || serverErr != nil {
		t.Fatal(clientErr, serverErr)
	}
	a.Close()
	b.Close()
}

// TestInterruptedHandshake has something happen behind the bytes of a handshake: the peer falls silent, the context is
// cancelled, or somebody closes the connection. The handshake ends at once, or when its time is over.
func TestInterruptedHandshake(t *testing.T) {
	lengths := handshakeBytes(t)
	for name, test := range map[string]struct {
		interrupt func(conn *secureconn.Conn, cancel func())
		want      error
		took      time.Duration
	}{
		"silence": {
			func(conn *secureconn.Conn, _ func()) { _, _ = io.Copy(io.Discard, conn.NetConn().(*wire).Conn) },
			context.DeadlineExceeded, secureconn.DefaultHandshakeTimeout,
		},
		"cancel": {func(_ *secureconn.Conn, cancel func()) { cancel() }, context.Canceled, 0},
		"Close":  {func(conn *secureconn.Conn, _ func()) { conn.Close() }, io.ErrClosedPipe, 0},
	} {
		for side, length := range lengths {
			t.Run(name+", "+side, func(t *testing.T) {
				t.Parallel()
				for offset := 0; offset < length; offset += 7 * everyStep() {
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						var conn, peer *secureconn.Conn
						client, server := tampered(side, offset, func([]byte) { test.interrupt(conn, cancel) })
						if conn, peer = client, server; side == "server" {
							conn, peer = server, client
						}
						go func() { _ = peer.Handshake() }()
						start := time.Now()
						err := conn.HandshakeContext(ctx)
						if took := time.Since(start); !errors.Is(err, test.want) || took != test.took {
							t.Errorf("byte %d: after %v: %v", offset, took, err)
						}
						if conn.Peer() != "" {
							t.Errorf("byte %d: there is a peer", offset)
						}
						conn.Close()
						peer.Close()
					})
				}
			})
		}
	}
}
