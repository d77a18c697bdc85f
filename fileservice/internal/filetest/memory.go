package filetest

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/test/bufconn"
)

// inMemory has the listeners of ListenInMemory by their addresses.
var (
	inMemory    sync.Map
	lastAddress atomic.Int64
)

// ListenInMemory listens within the process, on an address that the functions of this package can connect to. Unlike
// the network, it works in a bubble of synctest: what waits there for minutes takes no time, and a machine under load
// takes no longer than any other.
func ListenInMemory(t testing.TB) net.Listener {
	t.Helper()
	const queue = 256 << 10 // bytes in each direction of a connection
	l := &memoryListener{bufconn.Listen(queue), memoryAddr("memory:" + strconv.FormatInt(lastAddress.Add(1), 10))}
	inMemory.Store(l.address.String(), l)
	t.Cleanup(func() { inMemory.Delete(l.address.String()) })
	return l
}

type memoryListener struct {
	*bufconn.Listener
	address memoryAddr
}

func (l *memoryListener) Addr() net.Addr { return l.address }

type memoryAddr string

func (memoryAddr) Network() string  { return "memory" }
func (a memoryAddr) String() string { return string(a) }

// dial connects to an address of the network, or of ListenInMemory.
func dial(ctx context.Context, address string) (net.Conn, error) {
	if l, is := inMemory.Load(address); is {
		return l.(*memoryListener).DialContext(ctx)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}
