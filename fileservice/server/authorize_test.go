package server_test

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
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

// TestPathsOfDrafts observes calls that name a draft by its ID.
func TestPathsOfDrafts(t *testing.T) {
	var paths sync.Map
	address := filetest.Listen(t, t.TempDir(), func(c *server.Config) {
		c.Writable = true
		c.Observer.Called = func(call server.Call) { paths.Store(call.Method, call.Path) }
	})
	client := filetest.Raw(t, address)
	opened, err := client.OpenDraft(t.Context(), &pb.OpenDraftRequest{Path: "draft", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	write, err := client.Write(t.Context())
	if err == nil {
		err = write.Send(&pb.WriteRequest{Draft: opened.GetDraft(), Data: []byte("hello")})
	}
	if err == nil {
		_, err = write.CloseAndRecv()
	}
	if err != nil {
		t.Fatal(err)
	}
	data := filetest.RawData(t, address)
	for _, kind := range []exchange.Kind{exchange.PutDraft, exchange.GetDraft} {
		r := exchange.Request{Kind: kind, Target: string(opened.GetDraft())}
		if _, err := filetest.Ask(data, r, nil); err != nil {
			t.Error(err)
		}
	}
	if err := drain(client.Read(t.Context(), &pb.ReadRequest{Draft: opened.GetDraft(), Length: 5})); err != nil {
		t.Error(err)
	}
	for _, method := range []string{"OpenDraft", "Write", "PutDraft", "GetDraft", "Read"} {
		testkit.WaitFor(t, method, func() bool {
			path, known := paths.Load(method)
			return known && path == "draft"
		})
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
