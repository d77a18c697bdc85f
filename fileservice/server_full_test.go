package fileservice_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/internal/testkit"
)

// TestIdleConnectionsMakePlace fills a server with a client that is idle and one that is not. The idle one makes place
// for a third, and comes back when it wants something, which the third one makes place for.
func TestIdleConnectionsMakePlace(t *testing.T) {
	t.Parallel()
	dir, _ := tree(t, map[string]int{"file": 1})
	var closed atomic.Int64
	address := listen(t, dir, func(c *fileservice.ServerConfig) {
		c.MaxConnections, c.StallTimeout = 2, 36*time.Second // which is six seconds without a call
		c.Observer.Disconnected = func(net.Addr) { closed.Add(1) }
	})
	read := func(client *fileservice.Client) error {
		_, err := client.ReadFile("file")
		return err
	}
	one := func() *fileservice.Client {
		return connect(t, fileservice.ClientConfig{Dial: dialer(address), Connections: 1})
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
	until := func(client *fileservice.Client) {
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
