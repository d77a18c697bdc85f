package client_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
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
	if result, err := transfer.Pull(t.Context(), client.Place(), pull); err != nil || result.Files != 1 {
		t.Fatal(result, err)
	}
	push := transfer.Config{Remote: "copy", Root: local, Local: "file"}
	if result, err := transfer.Push(t.Context(), client.Place(), push); err != nil || result.Files != 1 {
		t.Fatal(result, err)
	}
	if n := dials.Load(); n != 2 {
		t.Errorf("%d connections for two small files", n)
	}
}

// TestNearForAWhile has a near server whose way becomes longer when its connection has ended, as when a laptop changes
// the network. The client no longer takes it for near.
func TestNearForAWhile(t *testing.T) {
	var far atomic.Bool
	var current atomic.Value
	address := filetest.LieAt(t, &filetest.Liar{OnStat: func() (*fileservicepb.Entry, error) {
		if far.Load() {
			<-time.After(50 * time.Millisecond)
		}
		return filetest.Entry("file", 1), nil
	}})
	dial := filetest.Dialer(address)
	const connections = 64
	keep := func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx)
		if err == nil {
			current.Store(conn)
		}
		return conn, err
	}
	remote := filetest.Connect(t, client.Config{Dial: keep, Connections: connections})
	for remote.MostLarge() >= connections { // the test hangs if no answer comes soon
		if _, err := remote.Stat("file"); err != nil {
			t.Fatal(err)
		}
	}
	far.Store(true)
	if err := current.Load().(net.Conn).Close(); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, "an answer over another connection", func() bool {
		_, err := remote.Stat("file")
		return err == nil
	})
	if n := remote.MostLarge(); n != connections {
		t.Errorf("%d calls for a server that is not near", n)
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
	if _, err := transfer.Pull(t.Context(), client.Place(), config); err != nil {
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
