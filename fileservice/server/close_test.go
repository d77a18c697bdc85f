package server_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/client"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
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
	dir, _ := filetest.Tree(t, map[string]int{"file": 1})
	root := filetest.OpenRoot(t, dir)
	listener := testkit.ListenTCP(t)
	server, served := filetest.StartServer(t, stubbornListener{listener}, server.Config{Root: root})
	for range 5 {
		client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(listener.Addr().String()), Connections: 1})
		if _, err := client.Stat("file"); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(server.Close(), <-served); err != nil {
		t.Error(err)
	}
}

// TestDropStubborn has connections of a client that would not close by themselves, on which nothing comes any more, and
// then some to close. It hangs if one of them is waited for.
func TestDropStubborn(t *testing.T) {
	release := make(chan struct{})
	address := filetest.LieAt(t, &filetest.Liar{OnStat: func() (*pb.Entry, error) {
		<-release
		return nil, status.Error(codes.NotFound, "")
	}})
	t.Cleanup(func() { close(release) }) // before the server is stopped
	client := filetest.Connect(t, client.Config{
		Timeout: 50 * time.Millisecond,
		Dial: func(ctx context.Context) (net.Conn, error) {
			conn, err := filetest.Dialer(address)(ctx)
			if err != nil {
				return nil, err
			}
			return stubborn{conn, &below{Conn: conn, closed: make(chan struct{})}}, nil
		},
	})
	for range 5 {
		if _, err := client.Stat("file"); !errors.Is(err, fileservice.ErrUnreachable) {
			t.Error(err)
		}
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
