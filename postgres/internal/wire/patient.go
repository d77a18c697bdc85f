package wire

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// A server sends many rows in pieces of 8 KiB. To be woken for each of them takes a client longer than all that it does
// with the rows. So a connection that has sent for a while is left alone for a moment when all that has arrived is
// read. Meanwhile the server goes on, as long as the socket holds what it sends: on Linux, this is about 180 KiB.
const (
	flow  = 1 << 20 // bytes since the client has last sent something
	piece = 96 << 10
	least = 100 * time.Microsecond
	most  = 4 * time.Millisecond
)

// patient is a connection that waits until a piece has arrived.
type patient struct {
	net.Conn
	flowed atomic.Int64 // reads and writes may be at the same time
	moment time.Duration
	pause  *time.Timer
	since  int  // bytes read since the last pause
	empty  bool // since the last read
}

func (c *patient) Read(p []byte) (int, error) {
	if c.empty && c.flowed.Load() > flow {
		wanted := time.Duration(float64(c.moment) * piece / float64(c.since))
		c.moment = min(max(wanted, c.moment/2, least), c.moment*2, most)
		c.since = 0
		c.pause.Reset(c.moment)
		<-c.pause.C
	}
	n, err := c.Conn.Read(p)
	c.empty = 0 < n && n < len(p)
	c.since += n
	c.flowed.Add(int64(n))
	return n, err
}

func (c *patient) Write(p []byte) (int, error) {
	c.flowed.Store(0)
	return c.Conn.Write(p)
}

func newPatient(conn net.Conn) *patient {
	pause := time.NewTimer(0)
	pause.Stop()
	return &patient{Conn: conn, moment: least, pause: pause}
}

// dialPatiently has connections read like that.
func dialPatiently(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newPatient(conn), nil
	}
}
