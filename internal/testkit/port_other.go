//go:build !linux

package testkit

import (
	"net"
)

// reservePort returns a TCP port of 127.0.0.1 that was just free.
func reservePort() (port int, release func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	nothing := func() error { return nil }
	return listener.Addr().(*net.TCPAddr).Port, nothing, listener.Close()
}
