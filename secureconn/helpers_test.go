package secureconn_test

import (
	"crypto/ed25519"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"culvert/secureconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key returns one of the keys of the tests.
func key(n byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	return ed25519.NewKeyFromSeed(seed)
}

func fingerprintOf(k ed25519.PrivateKey) string {
	return secureconn.Fingerprint(k.Public().(ed25519.PublicKey))
}

// configs returns those of a client and a server that expect each other.
func configs() (client, server *secureconn.Config) {
	return &secureconn.Config{Key: key(1), Peers: []string{fingerprintOf(key(2))}},
		&secureconn.Config{Key: key(2), Peers: []string{fingerprintOf(key(1))}}
}

func tcpPair(tb testing.TB) (client, server net.Conn) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	client, err = net.Dial("tcp", listener.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	if server, err = listener.Accept(); err != nil {
		tb.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute) // for a test that hangs
	_, _ = client.SetDeadline(deadline), server.SetDeadline(deadline)
	return client, server
}

func pipePair(testing.TB) (client, server net.Conn) { return net.Pipe() }

// secure makes a pair of connections that have shaken hands.
func secure(tb testing.TB, connect func(testing.TB) (client, server net.Conn)) (client, server *secureconn.Conn) {
	tb.Helper()
	a, b := connect(tb)
	forClient, forServer := configs()
	client, server = secureconn.Client(a, forClient), secureconn.Server(b, forServer)
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	if err := client.Handshake(); err != nil {
		tb.Fatal(err)
	}
	if err := <-done; err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}
