package testkit

import (
	"errors"
	"os"
	"syscall"
)

// reservePort returns a TCP port of 127.0.0.1 that the system assigns to no one else until it is released. Servers with
// SO_REUSEADDR can listen there, one after the other. While none does, connections are refused.
func reservePort() (port int, release func() error, err error) {
	const kind = syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC
	socket, err := syscall.Socket(syscall.AF_INET, kind, syscall.IPPROTO_TCP)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	release = func() error { return os.NewSyscallError("close", syscall.Close(socket)) }
	err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	if err == nil {
		loopback := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
		err = os.NewSyscallError("bind", syscall.Bind(socket, loopback))
	}
	if err == nil {
		var name syscall.Sockaddr
		if name, err = syscall.Getsockname(socket); err == nil {
			return name.(*syscall.SockaddrInet4).Port, release, nil
		}
		err = os.NewSyscallError("getsockname", err)
	}
	return 0, nil, errors.Join(err, release())
}
