package secureconn_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"culvert/secureconn"
)

func TestBadConfig(t *testing.T) {
	peers := []string{fingerprintOf(key(2))}
	for name, config := range map[string]*secureconn.Config{
		"none":              nil,
		"no key":            {Peers: peers},
		"a short key":       {Key: key(1)[:32], Peers: peers},
		"a key of halves":   {Key: append(key(1)[:32:32], key(2)[32:]...), Peers: peers},
		"no peers":          {Key: key(1)},
		"a short peer":      {Key: key(1), Peers: []string{peers[0][1:]}},
		"no base32":         {Key: key(1), Peers: []string{"0" + peers[0][1:]}},
		"not canonical":     {Key: key(1), Peers: []string{peers[0][:51] + "b"}},
		"an empty peer":     {Key: key(1), Peers: []string{peers[0], ""}},
		"two deciders":      {Key: key(1), Peers: peers, Authorize: func(string) error { return nil }},
		"no list":           {Key: key(1), Peers: []string{}, Authorize: func(string) error { return nil }},
		"a negative time":   {Key: key(1), Peers: peers, HandshakeTimeout: -1},
		"a peer with space": {Key: key(1), Peers: []string{peers[0] + " "}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := net.Pipe()
			defer b.Close()
			conn := secureconn.Client(a, config)
			if err := conn.Handshake(); err == nil || !strings.HasPrefix(err.Error(), "secureconn: ") {
				t.Errorf("the error is %v", err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			if _, err := secureconn.Listen("tcp", "127.0.0.1:0", config); err == nil {
				t.Error("Listen takes it")
			}
			if _, err := secureconn.Dial(t.Context(), "tcp", "127.0.0.1:0", config); err == nil {
				t.Error("Dial takes it")
			}
		})
	}
}

// TestSharedConfig shakes hands with the same Configs at once.
func TestSharedConfig(t *testing.T) {
	forClient, forServer := configs()
	var background sync.WaitGroup
	defer background.Wait()
	for range 16 {
		background.Go(func() {
			a, b := net.Pipe()
			clientErr, serverErr := shake(secureconn.Client(a, forClient), secureconn.Server(b, forServer))
			if clientErr != nil || serverErr != nil {
				t.Error(clientErr, serverErr)
			}
			a.Close()
			b.Close()
		})
	}
}
