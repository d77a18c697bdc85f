package server_test

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// TestManyGets asks for 10,000 ranges on one connection, and takes no answer.
func TestManyGets(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 8 << 20})
	address := filetest.Listen(t, dir, nil)
	good := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Connections: 1})
	if _, err := good.ReadFile("file"); err != nil {
		t.Fatal(err)
	}
	version := stat(t, dir, "file")
	for _, length := range []uint32{exchange.MaxInline, exchange.MaxLength} {
		before, goroutines := heap(), runtime.NumGoroutine()
		conn := filetest.DialData(t, address)
		var messages []byte
		for id := range uint32(10_000) {
			messages = append(messages, getMessage(id+1, version, length).Bytes()...)
		}
		// The server reads no further when it has too many.
		writing := make(chan struct{})
		go func() {
			defer close(writing)
			_, _ = conn.Write(messages) // until the connection is closed
		}()
		if _, err := filetest.ReadMessage(conn); err != nil {
			t.Fatal(err)
		}
		if _, err := good.ReadFile("file"); err != nil {
			t.Error(err)
		}
		// Where a read cannot tell whether it must wait for the disk, as in tmpfs, each of a few has its own goroutine.
		if got := runtime.NumGoroutine() - goroutines; got > 100 {
			t.Errorf("%d goroutines more", got)
		}
		if after := heap(); after > before+16<<20 {
			t.Errorf("%d KiB more in use", (after-before)>>10)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		<-writing
	}
}

// TestStalledData stalls connections that move bytes, each in another state. All are closed, though they answer at the
// level of the system and send requests.
func TestStalledData(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 8 << 20})
	version := stat(t, dir, "file")
	get := getMessage(1, version, exchange.MaxLength)
	put := &filetest.DataMessage{
		Kind: byte(exchange.PutBlock), Data: make([]byte, 1<<20), Head: filetest.RequestHead(0, version, noSum, "new"),
	}
	hello := &filetest.DataMessage{Kind: filetest.Hello, Length: 10}
	for what, c := range map[string]struct {
		writable, reads bool
		begin           []byte
		again           []byte
	}{
		"in a put":                   {true, true, put.Bytes()[:1<<19], nil},
		"in a put that is refused":   {false, true, put.Bytes()[:1<<19], nil},
		"in an answer":               {false, false, bytes.Repeat(get.Bytes(), 50), nil},
		"in an answer, with request": {false, false, bytes.Repeat(get.Bytes(), 50), hello.Bytes()},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			address := filetest.Listen(t, dir, func(c2 *server.Config) {
				c2.Writable, c2.StallTimeout = c.writable, filetest.ShortTimeout
				c2.Observer.Disconnected = func(net.Addr) { close(ended) }
			})
			conn := filetest.DialData(t, address)
			if _, err := conn.Write(c.begin); err != nil {
				t.Fatal(err)
			}
			if c.reads {
				_, _ = io.Copy(io.Discard, conn) // until it is closed
				return
			}
			ticker := time.NewTicker(10 * time.Millisecond)
			defer ticker.Stop()
			for {
				select {
				case <-ended: // the test hangs if this does not come
					return
				case <-ticker.C:
					_, _ = conn.Write(c.again) // it fails at the end
				}
			}
		})
	}
}

// TestIdleConnections has the server close both kinds of connections that have no calls. Its client opens others.
func TestIdleConnections(t *testing.T) { synctest.Test(t, idleConnections) }

func idleConnections(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 3 << 20})
	var closed atomic.Int64
	address := filetest.ListenOn(t, filetest.ListenInMemory(t), dir, func(c *server.Config) {
		c.IdleTimeout = 100 * time.Millisecond
		c.Observer.Disconnected = func(net.Addr) { closed.Add(1) }
	})
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Connections: 1})
	for i := range 3 {
		if _, err := client.Stat("file"); err != nil {
			t.Fatal(err)
		}
		if _, err := client.ReadFile("file"); err != nil {
			t.Fatal(err)
		}
		testkit.WaitFor(t, "both connections to be closed", func() bool { return closed.Load() == int64(2*i+2) })
	}
}
