package traffic

import (
	"net"

	"golang.org/x/sys/unix"
)

// kernelTraffic returns a function that asks the kernel for the bytes it has received and those that the other end has
// acknowledged. It returns nil if conn is not a TCP connection.
func kernelTraffic(conn net.Conn) func() (received, sent int64) {
	tcp, is := conn.(*net.TCPConn)
	if !is {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return func() (received, sent int64) {
		_ = raw.Control(func(fd uintptr) { // it fails if the connection is closed, and then no byte moves
			if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
				received, sent = int64(info.Bytes_received), int64(info.Bytes_acked)
			}
		})
		return received, sent
	}
}
