package secureconn_test

import (
	"net"
	"testing"
	"time"

	"golang.org/x/net/nettest"
)

// TestConn is the suite of golang.org/x/net/nettest, over TCP and over net.Pipe.
func TestConn(t *testing.T) {
	for name, connect := range map[string]func(testing.TB) (client, server net.Conn){"tcp": tcpPair, "pipe": pipePair} {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
				client, server := secure(t, connect)
				stop := func() {
					client.SetPatience(10 * time.Millisecond) // some of the tests take nothing more
					server.SetPatience(10 * time.Millisecond)
					client.Close()
					server.Close()
				}
				return client, server, stop, nil
			})
		})
	}
}
