package server_test

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
)

// TestAuthorize refuses one of two peers, then the other one, too. Calls tell whose they are.
func TestAuthorize(t *testing.T) {
	dir, names := filetest.Tree(t, map[string]int{"file": 1000})
	var refused, called atomic.Pointer[string]
	var rejected atomic.Int64
	errRevoked := errors.New("revoked")
	p := listenTo(t, 2, dir, func(c *server.Config) {
		c.Authorize = func(peer server.Peer) error {
			if peer.Addr == nil {
				t.Error("a peer without an address")
			}
			if name := refused.Load(); name != nil && *name == peer.Fingerprint {
				return errRevoked
			}
			return nil
		}
		c.Observer.Rejected = func(_ net.Addr, err error) {
			if errors.Is(err, errRevoked) {
				rejected.Add(1)
			}
		}
		c.Observer.Called = func(call server.Call) { called.Store(&call.Fingerprint) }
	})
	one := p.connect(t, 0)
	if _, err := one.ReadFile(names[0]); err != nil {
		t.Fatal(err)
	}
	fingerprint := called.Load()
	if *fingerprint == "" {
		t.Fatal("a call does not tell whose it is")
	}
	refused.Store(fingerprint)
	again := p.connect(t, 0)
	if _, err := again.ReadFile(names[0]); !errors.Is(err, fileservice.ErrUnreachable) || rejected.Load() == 0 {
		t.Errorf("a peer that is refused: %v, %d connections were rejected", err, rejected.Load())
	}
	if _, err := p.connect(t, 1).ReadFile(names[0]); err != nil {
		t.Errorf("the other peer: %v", err)
	}
	if *called.Load() == *fingerprint {
		t.Error("two peers have one fingerprint")
	}
}

// A server that stops accepting a key while it runs.
func ExampleConfig_authorize() {
	revoked := map[string]bool{"cv1-lost-laptop": true}
	config := server.Config{
		Authorize: func(peer server.Peer) error {
			if revoked[peer.Fingerprint] {
				return errors.New("the key is revoked")
			}
			return nil
		},
	}
	fmt.Println(config.Authorize(server.Peer{Fingerprint: "cv1-lost-laptop"}))
	fmt.Println(config.Authorize(server.Peer{Fingerprint: "cv1-desktop"}))
	// Output:
	// the key is revoked
	// <nil>
}
