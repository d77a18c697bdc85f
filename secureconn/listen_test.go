package secureconn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"culvert/secureconn"
)

// TestListen has a client that does not go on with its handshake, and others who do not have to wait for it.
func TestListen(t *testing.T) {
	forClient, forServer := configs()
	listener, err := secureconn.Listen("tcp", "127.0.0.1:0", forServer)
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var background sync.WaitGroup
	background.Go(func() { echo(t, listener, &background) })
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		conn, err := secureconn.Dial(ctx, "tcp", address, forClient)
		if err != nil {
			t.Fatal(err)
		}
		cancel() // it plays no part any more
		if _, err := conn.Write([]byte("echo")); err != nil {
			t.Error(err)
		}
		if err := conn.CloseWrite(); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(conn); err != nil || string(got) != "echo" {
			t.Errorf("read %q, %v", got, err)
		}
		if conn.RemoteAddr().String() != address || conn.NetConn().LocalAddr().String() != conn.LocalAddr().String() {
			t.Error("the addresses are others")
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	silent.Close()
	listener.Close()
	background.Wait()

	if _, err := secureconn.Dial(t.Context(), "tcp", address, forClient); err == nil {
		t.Error("Dial reaches a listener that is closed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := secureconn.Dial(ctx, "tcp", address, forClient); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial with a context that is done: %v", err)
	}
}

// echo sends back to all clients what they send, until the listener is closed.
func echo(t *testing.T, listener net.Listener, background *sync.WaitGroup) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		background.Go(func() {
			_, _ = io.Copy(conn, conn)
			conn.Close()
		})
	}
}
