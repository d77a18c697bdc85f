package filetest

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"culvert/fileservice/internal/exchange"
)

// DialData connects to a server, sends the preface of package exchange and HELLO, and receives ALIVE. The test sends
// and receives messages.
func DialData(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := dial(t.Context(), address)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
		hello := DataMessage{Kind: Hello, Length: 60_000}
		_, err = conn.Write(append([]byte(exchange.Preface), hello.Bytes()...))
	}
	if err == nil {
		_, err = ReadMessage(conn)
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// RawData returns a client of package exchange without the checks of package client.
func RawData(t testing.TB, address string) *exchange.Conn {
	t.Helper()
	conn, err := dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	data, err := exchange.NewConn(t.Context(), conn, time.Minute, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { data.Fail(net.ErrClosed) })
	return data
}

// Ask makes a call and waits for its end. The data is that of a put. For a get, the answer has Length bytes of memory.
func Ask(conn *exchange.Conn, r exchange.Request, data []byte) (*exchange.Call, error) {
	done := make(chan error, 1)
	call := &exchange.Call{
		Request: r, Data: data, Into: make([]byte, r.Length), Done: func(err error) { done <- err },
	}
	if err := conn.Start(call); err != nil {
		return call, err
	}
	return call, <-done
}

// SendData is what a hostile server does with a request, except HELLO and CANCEL. It may send any messages. If it
// fails, the connection is closed.
type SendData func(request *DataMessage, send func(...*DataMessage) error) error

// ErrCut tells a hostile server to close a connection.
var ErrCut = errors.New("cut")

// dataLiar serves connections of package exchange, and leaves all others to gRPC.
type dataLiar struct {
	credentials.TransportCredentials
	on      SendData
	serving sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil after close
}

func newDataLiar(on SendData) *dataLiar {
	return &dataLiar{TransportCredentials: insecure.NewCredentials(), on: on, conns: map[net.Conn]struct{}{}}
}

// Clone returns l.
func (l *dataLiar) Clone() credentials.TransportCredentials { return l }

// ServerHandshake reads the preface, and takes the connection if it is one of package exchange.
func (l *dataLiar) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	preface := make([]byte, len(exchange.Preface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return nil, nil, err
	}
	if string(preface) != exchange.Preface {
		return l.TransportCredentials.ServerHandshake(&begunConn{conn, preface})
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		return nil, nil, net.ErrClosed
	}
	l.conns[conn] = struct{}{}
	l.serving.Go(func() { l.serve(conn) })
	return nil, nil, credentials.ErrConnDispatched
}

func (l *dataLiar) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, conn)
	}()
	send := func(messages ...*DataMessage) error {
		for _, m := range messages {
			if _, err := conn.Write(m.Bytes()); err != nil {
				return err
			}
		}
		return nil
	}
	for {
		request, err := ReadMessage(conn)
		if err != nil {
			return
		}
		switch request.Kind {
		case Hello:
			err = send(&DataMessage{Kind: Alive})
		case Cancel:
		default:
			err = l.on(request, send)
		}
		if err != nil {
			return
		}
	}
}

// close ends all connections.
func (l *dataLiar) close() {
	l.mu.Lock()
	for conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
	l.mu.Unlock()
	l.serving.Wait()
}

// begunConn is a connection whose first bytes were read.
type begunConn struct {
	net.Conn
	begun []byte
}

// Read returns the first bytes first.
func (c *begunConn) Read(p []byte) (int, error) {
	if len(c.begun) > 0 {
		n := copy(p, c.begun)
		c.begun = c.begun[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
