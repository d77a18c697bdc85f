package secureconn_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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
	defer client.Close()
	defer server.Close()
	go func() { _ = client.Handshake() }()
	if err := server.HandshakeContext(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println("the peer is", server.Peer())
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
	// secureconn: the peer is ktaliakdcf4lu5vb26u7pn4jzyfwrlgvmimwjwb3pidtrm5oqnaq, which is not expected
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

// io.Copy uses ReadFrom and WriteTo: what is read is sealed in place, and what was opened is written from there.
func ExampleConn_WriteTo() {
	client, server := pair()
	go func() {
		_, _ = client.ReadFrom(bytes.NewReader([]byte("a stream\n")))
		_ = client.Close()
	}()
	n, err := server.WriteTo(os.Stdout)
	fmt.Println(n, err)
	_ = server.Close()
	// Output: a stream
	// 9 <nil>
}

func ExampleConn_WriteBuffers() {
	client, server := pair()
	go func() {
		list := net.Buffers{[]byte("head, "), []byte("body, "), []byte("tail")}
		_, _ = client.WriteBuffers(&list)
		_ = client.Close()
	}()
	text, _ := io.ReadAll(server)
	fmt.Printf("%s, in %d records with the one that ends it\n", text, server.Stats().RecordsReceived)
	_ = server.Close()
	// Output: head, body, tail, in 2 records with the one that ends it
}
