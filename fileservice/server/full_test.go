package server_test

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// TestIdleConnectionsMakePlace fills a server with a client that is idle and one that is not. The idle one makes place
// for a third, and comes back when it wants something, which the third one makes place for.
func TestIdleConnectionsMakePlace(t *testing.T) { synctest.Test(t, idleConnectionsMakePlace) }

func idleConnectionsMakePlace(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 1})
	var closed atomic.Int64
	address := filetest.ListenOn(t, filetest.ListenInMemory(t), dir, func(c *server.Config) {
		c.MaxConnections = 2
		c.Observer.Disconnected = func(net.Addr) { closed.Add(1) }
	})
	read := func(client *client.Client) error {
		_, err := client.ReadFile("file")
		return err
	}
	one := func() *client.Client {
		return filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Connections: 1})
	}
	idle, busy := one(), one()
	if err := errors.Join(read(idle), read(busy)); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(server.DefaultStallTimeout / 60)
	defer tick.Stop()
	until := func(client *client.Client) {
		t.Helper()
		for err := read(client); err != nil; err = read(client) {
			if !errors.Is(err, fileservice.ErrUnreachable) {
				t.Fatal(err)
			}
			<-tick.C
			if err := read(busy); err != nil {
				t.Errorf("the busy one: %v", err)
			}
		}
	}
	began := time.Now()
	until(one())
	if waited := time.Since(began); waited < server.DefaultStallTimeout/6 || waited > server.DefaultStallTimeout {
		t.Errorf("a connection made place after %v", waited)
	}
	testkit.WaitFor(t, "a connection to be closed", func() bool { return closed.Load() > 0 })
	until(idle)
}
