package bucket

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections makes the connections to a store. It gives up those on which nothing moves for the time patience,
// whatever library waits for them.
type connections struct {
	patience time.Duration

	mu     sync.Mutex
	open   map[*connection]bool
	closed bool
}

func newConnections(patience time.Duration) *connections {
	return &connections{patience: patience, open: map[*connection]bool{}}
}

// configure makes a transport use these connections. HTTP/2 would put all ranges into one connection, and costs more.
func (c *connections) configure(t *http.Transport) {
	t.DialContext = c.dial
	t.TLSHandshakeTimeout = c.patience
	t.ResponseHeaderTimeout = 0 // a part may take long to send
	t.MaxIdleConnsPerHost = 32
	t.IdleConnTimeout = c.patience
	t.ForceAttemptHTTP2 = false
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.DisableCompression = true
	t.WriteBufferSize, t.ReadBufferSize = 64<<10, 64<<10
}

func (c *connections) transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	c.configure(t)
	return t
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: c.patience, KeepAlive: c.patience}
	dialed, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	conn := &connection{Conn: dialed, of: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.Join(net.ErrClosed, dialed.Close())
	}
	c.open[conn] = true
	return conn, nil
}

// close closes all connections, also those in use.
func (c *connections) close() {
	c.mu.Lock()
	c.closed = true
	open := c.open
	c.open = map[*connection]bool{}
	c.mu.Unlock()
	for conn := range open {
		_ = conn.Conn.Close() // nothing that was written there is lost with it
	}
}

type connection struct {
	net.Conn
	of *connections
}

func (c *connection) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.of.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also extends the wait for an answer, in which another goroutine is.
func (c *connection) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.of.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
