package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
)

// from returns a dialer from a loopback address.
func from(host, address string) func(context.Context) (net.Conn, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
	return func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", address) }
}

// TestManySilentConnections has connections that say nothing take all places, from one address. Others still get one,
// from another address and from the same.
func TestManySilentConnections(t *testing.T) {
	for _, host := range []string{"127.0.0.2", "127.0.0.1"} {
		t.Run(host, func(t *testing.T) {
			dir, _ := filetest.Tree(t, map[string]int{"file": 1})
			const places = 8
			address := filetest.Listen(t, dir, func(c *server.Config) {
				c.MaxConnections, c.HandshakeTimeout = places, time.Hour
			})
			for range 3 * places {
				conn, err := from("127.0.0.1", address)(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
			}
			remote := filetest.Connect(t, client.Config{Dial: from(host, address), Connections: 1})
			for range 3 {
				if _, err := remote.ReadFile("file"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestSilentConnectionsGiveWay has silent connections take the places of others of their address without end. A
// connection that has said something keeps its place until its handshake is over.
func TestSilentConnectionsGiveWay(t *testing.T) {
	const places, silent = 8, 100
	fates := make(chan error, silent+1)
	speaker := make(chan string, 1) // its address
	fate := make(chan error, 1)
	note := func(address net.Addr, err error) {
		known := <-speaker
		speaker <- known
		if address.String() == known {
			fate <- err
		} else {
			fates <- err
		}
	}
	address := filetest.Listen(t, t.TempDir(), func(c *server.Config) {
		c.MaxConnections, c.HandshakeTimeout = places, time.Hour
		c.Observer.Rejected = note
		c.Observer.Connected = func(address net.Addr) { note(address, nil) }
	})
	open := func() net.Conn {
		t.Helper()
		conn, err := from("127.0.0.1", address)(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	conn := open()
	speaker <- conn.LocalAddr().String()
	say := func(text string) {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Error(err)
		}
	}
	say(exchange.Preface[:1])
	for range silent {
		open()
	}
	for range silent - places + 1 {
		select {
		case err := <-fates:
			if err == nil {
				t.Error("a silent connection is served")
			}
		case err := <-fate:
			t.Fatal(err)
		}
	}
	say(exchange.Preface[1:])
	if err := <-fate; err != nil {
		t.Error(err)
	}
}

// TestHandshakesOfManyAddresses fills the places from different addresses. None has more than its share, so the one
// that comes last gets none.
func TestHandshakesOfManyAddresses(t *testing.T) {
	const places = 8
	rejected := make(chan error, places)
	address := filetest.Listen(t, t.TempDir(), func(c *server.Config) {
		c.MaxConnections, c.HandshakeTimeout = places, time.Hour
		c.Observer.Rejected = func(_ net.Addr, err error) { rejected <- err }
	})
	open := func(host string) net.Conn {
		t.Helper()
		conn, err := from(host, address)(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	for i := range places {
		open(fmt.Sprint("127.0.0.", i+1))
	}
	late := open("127.0.0.100")
	if _, err := io.Copy(io.Discard, late); err != nil && !isReset(err) {
		t.Error(err)
	}
	if err := <-rejected; err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("it is rejected with %v", err)
	}
}
