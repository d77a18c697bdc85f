package secureconn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"culvert/secureconn"
)

func ExampleConn_HandshakeContext() {
	client, server := pair()
	defer client.Close()
	defer server.Close() // the server says nothing
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	err := client.HandshakeContext(ctx)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

func ExampleConn_Handshake() {
	client, server := pair()
	defer client.NetConn().Close()
	go func() { _ = server.Handshake() }()
	fmt.Println(client.Handshake())
	// Output: <nil>
}

// A Read gives what has come. io.ReadFull waits for all of it.
func ExampleConn_Read() {
	client, server := pair()
	go func() {
		_, _ = client.Write([]byte("12 bytes "))
		_, _ = client.Write([]byte("of it"))
		_ = client.Close()
	}()
	head := make([]byte, 12)
	_, err := io.ReadFull(server, head)
	fmt.Printf("%s %v\n", head, err)
	_, err = io.ReadFull(server, head)
	fmt.Println(err) // the stream was ended, and is shorter
	_ = server.Close()
	// Output: 12 bytes of  <nil>
	// unexpected EOF
}

// A Write returns when its bytes are sealed. CloseWrite and Close tell whether they were written.
func ExampleConn_Write() {
	client, server := pair()
	go func() {
		_, _ = io.Copy(os.Stdout, server)
		_ = server.Close()
	}()
	if _, err := client.Write([]byte("some bytes\n")); err != nil {
		fmt.Println(err)
	}
	if err := client.CloseWrite(); err != nil {
		fmt.Println(err)
	}
	_, err := client.Read(make([]byte, 1)) // the end of the other side
	fmt.Println(err)
	_ = client.Close()
	// Output: some bytes
	// EOF
}

// io.Copy uses ReadFrom.
func ExampleConn_ReadFrom() {
	client, server := pair()
	go func() {
		_, _ = client.ReadFrom(strings.NewReader("the content of a file"))
		_ = client.Close()
	}()
	text, err := io.ReadAll(server)
	fmt.Printf("%s %v\n", text, err)
	_ = server.Close()
	// Output: the content of a file <nil>
}

// io.Copy uses WriteTo. What it writes was opened in place, and is not copied.
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

// With CloseWrite a client says that its question is complete, and can still read the answer.
func ExampleConn_CloseWrite() {
	client, server := pair()
	go func() {
		question, _ := io.ReadAll(server)
		_, _ = server.Write(bytes.ToUpper(question))
		_ = server.Close()
	}()
	_, _ = io.WriteString(client, "how are you?")
	if err := client.CloseWrite(); err != nil {
		fmt.Println(err)
	}
	answer, err := io.ReadAll(client)
	fmt.Printf("%s %v\n", answer, err)
	_ = client.Close()
	// Output: HOW ARE YOU? <nil>
}

// A connection that is cut is not mistaken for one that was closed.
func ExampleConn_Close() {
	for _, end := range []func(*secureconn.Conn) error{
		(*secureconn.Conn).Close,
		func(c *secureconn.Conn) error { return c.NetConn().Close() },
	} {
		client, server := pair()
		go func() {
			_, _ = io.WriteString(client, "text")
			_ = end(client)
		}()
		text, err := io.ReadAll(server)
		fmt.Printf("%s, %v\n", text, err)
		_ = server.Close()
	}
	// Output: text, <nil>
	// text, unexpected EOF
}

// After a deadline the connection goes on, with another one.
func ExampleConn_SetReadDeadline() {
	client, server := pair()
	go func() { _ = server.Handshake() }()
	if err := client.Handshake(); err != nil {
		fmt.Println(err)
	}
	_ = client.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	word := make([]byte, 4)
	_, err := client.Read(word)
	fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))

	_ = client.SetReadDeadline(time.Time{})
	go func() { _, _ = io.WriteString(server, "late") }()
	_, err = io.ReadFull(client, word)
	fmt.Printf("%s %v\n", word, err)
	_ = client.NetConn().Close()
	// Output: true
	// late <nil>
}

func ExampleConn_Peer() {
	client, server := pair()
	defer client.NetConn().Close()
	go func() { _ = client.Handshake() }()
	fmt.Printf("before: %q\n", server.Peer())
	if err := server.Handshake(); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("after:  %q\n", server.Peer())
	// Output: before: ""
	// after:  "v6ihgnqamyst2hj4p5rkcqxo74s5jo3qmkfwavqul7ehscckezkq"
}

func ExampleConn_Stats() {
	client, server := pair()
	go func() {
		_, _ = io.WriteString(client, "five ")
		_, _ = io.WriteString(client, "bytes")
		_ = client.Close()
	}()
	_, _ = io.Copy(io.Discard, server)
	stats := server.Stats()
	fmt.Println(stats.BytesReceived, "bytes,", stats.RekeysReceived, "re-keys")
	_ = server.Close()
	// Output: 10 bytes, 0 re-keys
}

// NetConn is for what only the connection below can do, as here to cut it off.
func ExampleConn_NetConn() {
	client, server := pair()
	go func() {
		_ = server.Handshake()
		_ = server.NetConn().Close()
	}()
	_, err := client.Read(make([]byte, 1))
	fmt.Println(err)
	_ = client.Close()
	// Output: unexpected EOF
}
