package secureconn_test

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// faulty is a network connection that breaks the contract of its interface, when it is told to.
type faulty struct {
	net.Conn
	broken atomic.Bool
	read   func(n int) int // what Read returns without having read, if n were asked for
	write  func(n int) int
}

func (f *faulty) Read(p []byte) (int, error) {
	if f.broken.Load() && f.read != nil {
		return f.read(len(p)), nil
	}
	return f.Conn.Read(p)
}

func (f *faulty) Write(p []byte) (int, error) {
	if f.broken.Load() && f.write != nil {
		return f.write(len(p)), nil
	}
	return f.Conn.Write(p)
}

// TestFaultyNetwork reads from and writes to a network that returns nothing for ever, or more than it was given.
func TestFaultyNetwork(t *testing.T) {
	nothing := func(int) int { return 0 }
	tooMuch := func(n int) int { return n + 1 }
	tooLittle := func(n int) int { return n - 1 }
	for name, test := range map[string]struct {
		read, write func(int) int
		want        error // nil is any
	}{
		"reads nothing":     {read: nothing, want: io.ErrNoProgress},
		"reads too much":    {read: tooMuch},
		"writes nothing":    {write: nothing, want: io.ErrShortWrite},
		"writes too little": {write: tooLittle, want: io.ErrShortWrite},
		"writes too much":   {write: tooMuch},
	} {
		var network *faulty
		client, server := secure(t, func(t testing.TB) (client, server net.Conn) {
			a, b := tcpPair(t)
			network = &faulty{Conn: a, read: test.read, write: test.write}
			return network, b
		})
		network.broken.Store(true)
		var err error
		if test.read != nil {
			_, err = client.Read(make([]byte, 10))
		} else {
			_, err = client.Write([]byte("hello"))
		}
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
		_ = client.Close() // it cannot send CLOSE either
		server.Close()
	}
}
