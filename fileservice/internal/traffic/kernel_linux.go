package traffic

import (
	"net"

	"golang.org/x/sys/unix"
)

// kernelTraffic returns how to ask the kernel what it has brought, and what the other end has acknowledged; nil if that
// is not a connection of TCP.
func kernelTraffic(conn net.Conn) func() (received, sent int64) {
	tcp, is := conn.(*net.TCPConn)
	if !is {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	ask := func() (received, sent int64) {
		_ = raw.Control(func(fd uintptr) { // of a connection that is closed nothing moves
			if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
				received, sent = int64(info.Bytes_received), int64(info.Bytes_acked)
			}
		})
		return received, sent
	}
	return ask
}
