package secureconn_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"culvert/secureconn"
)

// exampleKey makes the key of an example. Real ones come from ed25519.GenerateKey, or from an identity file.
func exampleKey(name byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{name}, ed25519.SeedSize))
}

func exampleConfig(own, peer ed25519.PrivateKey) *secureconn.Config {
	return &secureconn.Config{Key: own, Peers: []string{secureconn.Fingerprint(peer.Public().(ed25519.PublicKey))}}
}

// A server that answers in upper case, and a client.
func Example() {
	alice, bob := exampleKey('a'), exampleKey('b')
	listener, err := secureconn.Listen("tcp", "127.0.0.1:0", exampleConfig(bob, alice))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		question, err := io.ReadAll(conn)
		if err != nil {
			return
		}
		_, _ = conn.Write(bytes.ToUpper(question))
	}()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := secureconn.Dial(ctx, "tcp", listener.Addr().String(), exampleConfig(alice, bob))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		fmt.Println(err)
	}
	if err := conn.CloseWrite(); err != nil {
		fmt.Println(err)
	}
	answer, err := io.ReadAll(conn)
	fmt.Printf("%s %v\n", answer, err)
	// Output: HELLO <nil>
}

// pair has two keys talk over a connection in memory.
func pair() (client, server *secureconn.Conn) {
	alice, bob := exampleKey('a'), exampleKey('b')
	a, b := net.Pipe()
	return secureconn.Client(a, exampleConfig(alice, bob)), secureconn.Server(b, exampleConfig(bob, alice))
}

// Any net.Conn will do.
func ExampleClient() {
	client, server := pair()
	go func() {
		_, _ = io.WriteString(client, "over a pipe")
		_ = client.Close()
	}()
	text, err := io.ReadAll(server)
	fmt.Printf("%s %v\n", text, err)
	_ = server.Close()
	// Output: over a pipe <nil>
}

func ExampleServer() {
	client, server := pair()
	go func() {
		_, _ = io.Copy(io.Discard, client)
		_ = client.Close()
	}()
	if err := server.HandshakeContext(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println("the peer is", server.Peer())
	_ = server.Close()
	// Output: the peer is v6ihgnqamyst2hj4p5rkcqxo74s5jo3qmkfwavqul7ehscckezkq
}

func ExamplePeerError() {
	alice, bob, mallory := exampleKey('a'), exampleKey('b'), exampleKey('m')
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	server := secureconn.Server(b, exampleConfig(mallory, alice))
	go func() { _ = server.Handshake() }()
	err := secureconn.Client(a, exampleConfig(alice, bob)).Handshake()
	var peer *secureconn.PeerError
	fmt.Println(errors.As(err, &peer))
	fmt.Println(err)
	// Output: true
	// secureconn: the peer ktaliakdcf4lu5vb26u7pn4jzyfwrlgvmimwjwb3pidtrm5oqnaq is not accepted: it is not listed
}

func ExampleFingerprint() {
	public := exampleKey('a').Public().(ed25519.PublicKey)
	fmt.Println(secureconn.Fingerprint(public))
	// Output: v6ihgnqamyst2hj4p5rkcqxo74s5jo3qmkfwavqul7ehscckezkq
}

// Accept does not wait for the handshake, so a server runs it where it handles the connection.
func ExampleNewListener() {
	alice, bob := exampleKey('a'), exampleKey('b')
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	listener := secureconn.NewListener(inner, exampleConfig(bob, alice))
	defer listener.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if err := conn.(*secureconn.Conn).Handshake(); err != nil {
			fmt.Println("refused:", err)
			return
		}
		fmt.Println("accepted")
	}()
	conn, err := secureconn.Dial(context.Background(), "tcp", inner.Addr().String(), exampleConfig(alice, bob))
	if err != nil {
		fmt.Println(err)
		return
	}
	<-done
	_ = conn.Close()
	// Output: accepted
}

func ExampleListen() {
	alice, bob := exampleKey('a'), exampleKey('b')
	listener, err := secureconn.Listen("tcp", "127.0.0.1:0", exampleConfig(bob, alice))
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		conn, err := secureconn.Dial(
			context.Background(), "tcp", listener.Addr().String(), exampleConfig(alice, bob))
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "hello")
		_ = conn.Close()
	}()
	conn, err := listener.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := io.ReadAll(conn) // which runs the handshake
	fmt.Printf("%s %v\n", text, err)
	_ = conn.Close()
	_ = listener.Close()
	// Output: hello <nil>
}

// Dial fails if the server is not who it is expected to be, or does not accept the client.
func ExampleDial() {
	alice, bob, mallory := exampleKey('a'), exampleKey('b'), exampleKey('m')
	listener, err := secureconn.Listen("tcp", "127.0.0.1:0", exampleConfig(bob, alice))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}()
		}
	}()
	for _, own := range []ed25519.PrivateKey{alice, mallory} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		conn, err := secureconn.Dial(ctx, "tcp", listener.Addr().String(), exampleConfig(own, bob))
		cancel()
		if errors.Is(err, secureconn.ErrRefused) {
			fingerprint := secureconn.Fingerprint(own.Public().(ed25519.PublicKey))
			fmt.Printf("the other side has to list %s: %v\n", fingerprint, strings.Contains(err.Error(), fingerprint))
			continue
		}
		fmt.Println(err)
		_ = conn.Close()
	}
	// Output: <nil>
	// the other side has to list ktaliakdcf4lu5vb26u7pn4jzyfwrlgvmimwjwb3pidtrm5oqnaq: true
}

// A server that several clients may connect to, and that does not wait long for any of them.
func ExampleConfig() {
	alice, bob, carol := exampleKey('a'), exampleKey('b'), exampleKey('c')
	config := &secureconn.Config{
		Key: bob,
		Peers: []string{
			secureconn.Fingerprint(alice.Public().(ed25519.PublicKey)),
			secureconn.Fingerprint(carol.Public().(ed25519.PublicKey)),
		},
		HandshakeTimeout: 3 * time.Second,
	}
	for _, client := range []ed25519.PrivateKey{alice, carol} {
		a, b := net.Pipe()
		go func() { _ = secureconn.Client(a, exampleConfig(client, bob)).Handshake() }()
		fmt.Println(secureconn.Server(b, config).Handshake())
		_ = b.Close()
	}
	// Output: <nil>
	// <nil>
}

// A server whose list of clients changes while it runs.
func ExampleConfig_authorize() {
	alice, bob := exampleKey('a'), exampleKey('b')
	var allowed sync.Map
	allowed.Store(secureconn.Fingerprint(alice.Public().(ed25519.PublicKey)), true)
	config := &secureconn.Config{
		Key: bob,
		Authorize: func(fingerprint string) error {
			if _, is := allowed.Load(fingerprint); !is {
				return errors.New("ask the administrator")
			}
			return nil
		},
	}
	connect := func() {
		a, b := net.Pipe()
		go func() { _ = secureconn.Client(a, exampleConfig(alice, bob)).Handshake() }()
		fmt.Println(secureconn.Server(b, config).Handshake())
		_ = b.Close()
	}
	connect()
	allowed.Clear()
	connect()
	// Output:
	// <nil>
	// secureconn: the peer v6ihgnqamyst2hj4p5rkcqxo74s5jo3qmkfwavqul7ehscckezkq is not accepted: ask the administrator
}

// damaged is a network that changes bytes after a while.
type damaged struct {
	net.Conn
	count int
}

func (d *damaged) Read(p []byte) (int, error) {
	n, err := d.Conn.Read(p)
	if d.count += n; n > 0 && d.count > 20_000 {
		p[n-1] ^= 1
	}
	return n, err
}

// What somebody has changed on the way is not handed out.
func Example_changed() {
	alice, bob := exampleKey('a'), exampleKey('b')
	a, b := net.Pipe()
	client := secureconn.Client(a, exampleConfig(alice, bob))
	server := secureconn.Server(&damaged{Conn: b}, exampleConfig(bob, alice))
	go func() {
		_, _ = io.WriteString(client, "the beginning")
		_, _ = client.Write(make([]byte, 100_000))
	}()
	text, err := io.ReadAll(server)
	fmt.Printf("%s, %v\n", text, errors.Is(err, secureconn.ErrRecord))
	_ = b.Close()
	// Output: the beginning, true
}
