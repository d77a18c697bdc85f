package client_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
)

// countDials gives a client, and how many connections it has asked for.
func countDials(t *testing.T, address string) (*client.Client, *atomic.Int64) {
	t.Helper()
	var dials atomic.Int64
	dial := filetest.Dialer(address)
	return filetest.Connect(t, client.Config{Dial: func(ctx context.Context) (net.Conn, error) {
		dials.Add(1)
		return dial(ctx)
	}}), &dials
}

// TestTwoConnectionsForLittle moves a small file each way.
func TestTwoConnectionsForLittle(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 4 << 10})
	address := filetest.Listen(t, dir, filetest.Writable)
	local := filetest.OpenRoot(t, t.TempDir())
	client, dials := countDials(t, address)
	pull := transfer.Config{Remote: "file", Root: local, Local: "file"}
	if result, err := transfer.Pull(t.Context(), client, pull); err != nil || result.Files != 1 {
		t.Fatal(result, err)
	}
	push := transfer.Config{Remote: "copy", Root: local, Local: "file"}
	if result, err := transfer.Push(t.Context(), client, push); err != nil || result.Files != 1 {
		t.Fatal(result, err)
	}
	if n := dials.Load(); n != 2 {
		t.Errorf("%d connections for two small files", n)
	}
}

// TestFewerConnections has a server that takes two of the connections of a client, and then, when another client has
// gone, three.
func TestFewerConnections(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 64 << 20, "small": 1})
	var mu sync.Mutex
	connected, most, all := 0, 0, 0
	third := make(chan struct{})
	address := filetest.Listen(t, dir, func(c *server.Config) {
		c.MaxConnections = 3
		c.Observer.Connected = func(net.Addr) {
			mu.Lock()
			defer mu.Unlock()
			connected++
			most = max(most, connected)
			if all++; all == 4 {
				close(third)
			}
		}
		c.Observer.Disconnected = func(net.Addr) {
			mu.Lock()
			defer mu.Unlock()
			connected--
		}
	})
	other, err := client.New(client.Config{Dial: filetest.Dialer(address), Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ReadFile("small"); err != nil {
		t.Fatal(err)
	}
	local := t.TempDir()
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Timeout: time.Hour})
	config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, local), Local: "."}
	if _, err := transfer.Pull(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	filetest.SeeSame(t, dir, local)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for again := true; again; { // the test hangs if the client does not try again
		if _, err := client.ReadFile("file"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-third:
			again = false
		default:
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if most != 3 {
		t.Errorf("%d connections at once", most)
	}
}
