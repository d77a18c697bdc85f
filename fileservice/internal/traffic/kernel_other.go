//go:build !linux

package traffic

import "net"

// kernelTraffic returns nil: what the kernel takes counts as taken by the other end.
func kernelTraffic(net.Conn) func() (received, sent int64) { return nil }
