//go:build !linux

package traffic

import "net"

// kernelTraffic returns nil: bytes that the kernel accepts count as accepted by the other end.
func kernelTraffic(net.Conn) func() (received, sent int64) { return nil }
