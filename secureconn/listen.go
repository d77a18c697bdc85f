package secureconn

import (
	"context"
	"net"
)

// Dial connects to an address, as [net.Dialer] does, and runs the handshake. ctx bounds both; it plays no part
// afterwards.
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
		_ = conn.Close() // of no use, whatever it says
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

// NewListener makes a listener whose Accept gives a [*Conn] for each connection of inner, made by [Server]. The
// handshake is not done yet, so that who is slow with it keeps nobody else waiting.
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

// localQueue is the send buffer of a connection within one machine.
const localQueue = 256 << 10

// tune keeps what is queued between two processes of one machine small enough for the caches of a core. The system lets
// the queue grow to megabytes, which pays on a long way and, where there is none, has each byte fetched from memory
// again: the measurements are in bench.
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
	_ = tcp.SetWriteBuffer(localQueue) // without it the connection is slower, and no worse
}
