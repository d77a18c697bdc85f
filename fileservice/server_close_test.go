package fileservice_test

import (
	"errors"
	"net"
	"sync"
	"testing"

	"culvert/fileservice"
)

// stubborn is a connection whose Close waits for the client, until the connection below it is closed, too.
type stubborn struct {
	net.Conn
	below *below
}

func (s stubborn) NetConn() net.Conn { return s.below }

func (s stubborn) Close() error {
	<-s.below.closed
	return net.ErrClosed
}

type below struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (b *below) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Conn.Close()
}

type stubbornListener struct{ net.Listener }

func (l stubbornListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return stubborn{conn, &below{Conn: conn, closed: make(chan struct{})}}, nil
}

// TestCloseStubborn closes a server with connections that would not close by themselves. It hangs if one of them is
// waited for.
func TestCloseStubborn(t *testing.T) {
	dir, _ := tree(t, map[string]int{"file": 1})
	root := openRoot(t, dir)
	server, err := fileservice.NewServer(fileservice.ServerConfig{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(stubbornListener{listener}) }()
	for range 5 {
		client := connect(t, fileservice.ClientConfig{Dial: dialer(listener.Addr().String()), Connections: 1})
		if _, err := client.Stat("file"); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(server.Close(), <-served); err != nil {
		t.Error(err)
	}
}
