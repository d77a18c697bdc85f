package server_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// TestIdleConnectionsMakePlace fills a server with a client that is idle and one that is not. The idle one makes place
// for a third, and comes back when it wants something, which the third one makes place for.
func TestIdleConnectionsMakePlace(t *testing.T) {
	t.Parallel()
	dir, _ := filetest.Tree(t, map[string]int{"file": 1})
	var closed atomic.Int64
	address := filetest.Listen(t, dir, func(c *server.Config) {
		c.MaxConnections, c.StallTimeout = 2, 36*time.Second // which is six seconds without a call
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
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := read(busy); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	until := func(client *client.Client) {
		t.Helper()
		for err := read(client); err != nil; err = read(client) {
			if !errors.Is(err, fileservice.ErrUnreachable) {
				t.Fatal(err)
			}
			<-ticker.C
		}
	}
	until(one())
	testkit.WaitFor(t, "a connection to be closed", func() bool { return closed.Load() > 0 })
	until(idle)
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the busy one: %v", err)
	}
}
