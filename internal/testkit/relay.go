package testkit

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Relay stands between clients and a server on a Unix socket. It passes on what both say, or something else: a test has
// it lose or change a message when that comes.
type Relay struct {
	listener net.Listener
	running  sync.WaitGroup
	mu       sync.Mutex // guards conns
	conns    []net.Conn
}

// NewRelay returns a relay that accepts connections until the end of the test, when all of them are closed, or until
// [Relay.Refuse]. For each, target returns the socket of the server, or "" if the connection is to be refused. It is
// called by one goroutine. Then pass returns two functions, which run at the same time: ask passes on what the client
// says, and answer what the server says. After answer both connections are closed; ask closes that of the server if
// the client has ended.
func NewRelay(
	tb testing.TB, listener net.Listener, target func() string, pass func(client, server net.Conn) (ask, answer func()),
) *Relay {
	tb.Helper()
	r := &Relay{listener: listener}
	r.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			socket := target()
			var server net.Conn
			if socket != "" {
				server, err = net.Dial("unix", socket)
			}
			if socket == "" || err != nil {
				_ = client.Close() // the other side may have ended it
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, client, server)
			r.mu.Unlock()
			ask, answer := pass(client, server)
			r.running.Go(ask)
			r.running.Go(func() {
				answer()
				_ = client.Close() // the other side may have ended it
				_ = server.Close() // the other side may have ended it
			})
		}
	})
	tb.Cleanup(r.close)
	return r
}

func (r *Relay) close() {
	r.Refuse()
	r.mu.Lock()
	for _, conn := range r.conns {
		_ = conn.Close() // the other side may have ended it
	}
	r.mu.Unlock()
	r.running.Wait()
}

// Refuse ends the listener. Connections go on.
func (r *Relay) Refuse() { _ = r.listener.Close() } // it may be closed already

// Address is where the relay listens: a host and port, or the path of a socket.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// ListenUnix listens on a Unix socket, which is removed at the end of the test.
func ListenUnix(tb testing.TB) net.Listener {
	tb.Helper()
	dir, err := os.MkdirTemp("/tmp", "culvert-relay-") // the path of a socket is short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		tb.Fatal(err)
	}
	return listener
}

// Greeter says the same to everybody who connects, and hangs up, until the end of the test. It returns its address.
func Greeter(tb testing.TB, greeting string) (address string) {
	tb.Helper()
	listener := ListenTCP(tb)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(greeting))
			_ = conn.Close()
		}
	}()
	tb.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

// ListenTCP listens on a free loopback port.
func ListenTCP(tb testing.TB) net.Listener {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return listener
}
