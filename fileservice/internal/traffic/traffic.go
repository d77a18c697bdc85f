// Package traffic counts the bytes that a connection moves, and ends waits during which none move.
package traffic

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// traffic counts the bytes that a connection has moved. Bytes count as soon as the network has delivered or accepted
// them. On a slow line their record or message may take minutes to complete.
type traffic struct {
	received, sent atomic.Int64
	ask            func() (received, sent int64) // the counts of an inner connection; nil if none counts
}

// Conn is a connection whose traffic is counted.
type Conn struct {
	net.Conn
	Traffic traffic
}

// countedWrite is the size of a single write to a connection that does not count bytes itself.
const countedWrite = 32 << 10

// NewConn returns a connection that counts the traffic of conn, or uses the counts of the innermost connection that has
// them.
func NewConn(conn net.Conn) *Conn {
	c := &Conn{Conn: conn}
	for below := conn; below != nil; {
		if ask := kernelTraffic(below); ask != nil {
			c.Traffic.ask = ask // bytes in the kernel's queue are not sent yet
			break
		}
		if counts, is := below.(interface{ Traffic() (received, sent int64) }); is {
			c.Traffic.ask = counts.Traffic
		}
		inner, is := below.(interface{ NetConn() net.Conn })
		if !is {
			break
		}
		below = inner.NetConn()
	}
	return c
}

func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.Traffic.received.Add(int64(n))
	return n, err
}

func (c *Conn) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		part := p[n:]
		if c.Traffic.ask == nil {
			part = part[:min(len(part), countedWrite)]
		}
		var written int
		written, err = c.Conn.Write(part)
		c.Traffic.sent.Add(int64(written))
		n += written
	}
	return n, err
}

// NetConn returns the connection whose traffic is counted.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// Cut closes a connection without waiting for the other end, which closing an encrypted one does.
func Cut(conn net.Conn) {
	inner := conn
	for {
		outer, is := inner.(interface{ NetConn() net.Conn })
		if !is {
			break
		}
		inner = outer.NetConn()
	}
	_ = inner.Close()
	_ = conn.Close() // it has failed, or is of no further use
}

// Moved returns the bytes received and sent. Only changes of these numbers are meaningful.
func (t *traffic) Moved() (received, sent int64) {
	if t.ask != nil {
		return t.ask()
	}
	return t.received.Load(), t.sent.Load()
}

// Silence measures how long a number has not changed.
type Silence struct {
	Known bool
	first int64
	Last  int64
	since time.Time
}

// See records the number and returns how long it has been the same.
func (s *Silence) See(number int64) time.Duration {
	now := time.Now()
	if !s.Known {
		s.Known, s.first, s.Last, s.since = true, number, number, now
	}
	if number > s.Last { // it falls when a connection is given up, which is no traffic
		s.since = now
	}
	s.Last = number
	return now.Sub(s.since)
}

// Moved returns the increase of the number since it was first seen.
func (s *Silence) Moved() int64 { return s.Last - s.first }

// looks is how often a watch checks within its limit. The first check only starts the count, because most waits end
// earlier. So the watch can exceed its limit by one or two intervals.
const looks = 4

// Watch ends a wait during which no byte moves.
type Watch struct {
	end func()

	mu    sync.Mutex
	timer *time.Timer
	wait  *Wait // nil between waits
	Began time.Time
	Own   Silence // of the connection
	All   Silence // of all connections
}

// Wait says when a wait is over. Watches share and reuse it.
type Wait struct {
	Limit  time.Duration
	IsOver func(*Watch) bool
}

// NewWatch returns a watch that calls end if a wait is over.
func NewWatch(end func()) *Watch {
	w := &Watch{end: end}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
	return w
}

// Start begins a wait and ends the one before.
func (w *Watch) Start(wait *Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wait, w.Began = wait, time.Now()
	w.Own, w.All = Silence{}, Silence{}
	w.timer.Reset(wait.every())
}

// Stop ends the wait.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wait = nil
	w.timer.Stop()
}

// look ends the wait if it is over.
func (w *Watch) look() {
	w.mu.Lock()
	over := w.wait != nil && w.wait.IsOver(w)
	switch {
	case over:
		w.wait = nil
	case w.wait != nil:
		w.timer.Reset(w.wait.every())
	}
	w.mu.Unlock()
	if over {
		w.end()
	}
}

func (w *Wait) every() time.Duration { return max(w.Limit/looks, time.Millisecond) }

// PingPatience is the time that gRPC waits for the answer to a keepalive ping. The answer may queue behind other data,
// and gRPC sees only complete messages. So a Watch decides when a connection is dead, not gRPC. A Watch counts the
// bytes of an answer like any others; the answer comes too late to prolong a wait without other bytes.
const PingPatience = 24 * time.Hour

// PingAfter returns how long gRPC waits without a complete message before it pings.
func PingAfter(limit time.Duration) time.Duration { return max(limit+limit/2, leastPing) }

// leastPing is the minimum that gRPC allows a client.
const leastPing = 10 * time.Second

// ClosePatience is how long closing waits for a client to accept data that is still to be sent.
const ClosePatience = 500 * time.Millisecond
