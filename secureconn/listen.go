package secureconn

import (
	"context"
	"net"
)

// Dial connects to an address, as [net.Dialer] does, and runs the handshake. After it returns, ctx has no effect.
func Dial(ctx context.Context, network, address string, config *Config) (*Conn, error) {
	if err := config.prepare(); err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tune(conn)
	c := Client(conn, config)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the error of the handshake says more
		return nil, err
	}
	return c, nil
}

// Listen listens on an address, as [net.Listen] does. See [NewListener].
func Listen(network, address string, config *Config) (net.Listener, error) {
	if err := config.prepare(); err != nil {
		return nil, err
	}
	inner, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	return NewListener(inner, config), nil
}

// NewListener returns a listener whose Accept returns a [*Conn], made by [Server], for each connection of inner. Accept
// does not run the handshake, so that a slow client does not delay others.
func NewListener(inner net.Listener, config *Config) net.Listener { return &listener{inner, config} }

type listener struct {
	net.Listener
	config *Config
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tune(conn)
	return Server(conn, l.config), nil
}

// localQueue is the size of the send buffer of a connection within one machine.
const localQueue = 256 << 10

// tune keeps the queue between two processes of one machine small enough for the caches of a core. The system lets it
// grow to megabytes, which helps over a distance. Within a machine each byte would be fetched from memory again: see
// the measurements in bench.
func tune(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	local, ok := tcp.LocalAddr().(*net.TCPAddr)
	remote, isTCP := tcp.RemoteAddr().(*net.TCPAddr)
	if !ok || !isTCP || !local.IP.Equal(remote.IP) {
		return
	}
	_ = tcp.SetWriteBuffer(localQueue) // without it the connection is only slower
}
