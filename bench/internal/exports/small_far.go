package exports

import (
	"io"
	"net"
	"sync"
	"time"

	"culvert/bench/internal/harness"
)

// farProxy passes connections on to a server as if it were far: each byte arrives after half of a round trip.
type farProxy struct {
	port   string
	server string
	delay  time.Duration // in each direction
	ends   sync.WaitGroup
}

func newFarProxy(s *harness.Session, server string, roundTrip time.Duration) (*farProxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	p := &farProxy{port: port, server: server, delay: roundTrip / 2}
	p.ends.Go(func() { p.accept(listener) })
	s.Cleanup(func() error {
		err := listener.Close()
		p.ends.Wait()
		return err
	})
	return p, err
}

func (p *farProxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		p.ends.Go(func() {
			defer client.Close()      //nolint:errcheck // all that was sent has arrived
			<-time.After(2 * p.delay) // the handshake of TCP
			server, err := net.Dial("unix", p.server)
			if err != nil {
				return
			}
			defer server.Close() //nolint:errcheck // likewise
			var both sync.WaitGroup
			both.Go(func() { p.pass(server.(*net.UnixConn), client) })
			p.pass(client.(*net.TCPConn), server)
			both.Wait()
		})
	}
}

// pass passes bytes on in their order, each when it is due.
func (p *farProxy) pass(to interface {
	io.Writer
	CloseWrite() error
}, from io.Reader,
) {
	type piece struct {
		due  time.Time
		text []byte
	}
	pieces := make(chan piece, 1024)
	var written sync.WaitGroup
	written.Go(func() {
		for one := range pieces {
			<-time.After(time.Until(one.due))
			_, _ = to.Write(one.text) // the reader of a connection that has ended notices
		}
		_ = to.CloseWrite()
	})
	for {
		text := make([]byte, 64<<10)
		n, err := from.Read(text)
		if n > 0 {
			pieces <- piece{time.Now().Add(p.delay), text[:n]}
		}
		if err != nil {
			break
		}
	}
	close(pieces)
	written.Wait()
}
