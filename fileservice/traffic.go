package fileservice

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// traffic counts what a connection has moved. Bytes count as soon as the network has brought or taken them, long before
// the record or the message that they are of is complete: on a slow line that takes minutes.
type traffic struct {
	received, sent atomic.Int64
	ask            func() (received, sent int64) // nil if nobody below knows better
}

// countedConn is a connection whose traffic is counted.
type countedConn struct {
	net.Conn
	traffic traffic
}

// countedWrite is how many bytes are written at once to a connection that does not count them.
const countedWrite = 32 << 10

func newCountedConn(conn net.Conn) *countedConn {
	c := &countedConn{Conn: conn}
	for below := conn; below != nil; {
		if ask := kernelTraffic(below); ask != nil {
			c.traffic.ask = ask // what is in the queue of the kernel was not taken yet
			break
		}
		if counts, is := below.(interface{ Traffic() (received, sent int64) }); is {
			c.traffic.ask = counts.Traffic
		}
		inner, is := below.(interface{ NetConn() net.Conn })
		if !is {
			break
		}
		below = inner.NetConn()
	}
	return c
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.traffic.received.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		part := p[n:]
		if c.traffic.ask == nil {
			part = part[:min(len(part), countedWrite)]
		}
		var written int
		written, err = c.Conn.Write(part)
		c.traffic.sent.Add(int64(written))
		n += written
	}
	return n, err
}

// moved returns how many bytes have come, and how many were taken. Only that they change has a meaning.
func (t *traffic) moved() (received, sent int64) {
	if t.ask != nil {
		return t.ask()
	}
	return t.received.Load(), t.sent.Load()
}

// silence is how long a number has not changed.
type silence struct {
	known bool
	first int64 // the number when it was seen first
	last  int64
	since time.Time
}

// see takes note of the number, and returns how long it has been the same.
func (s *silence) see(number int64) time.Duration {
	now := time.Now()
	if !s.known {
		s.known, s.first, s.last, s.since = true, number, number, now
	}
	if number != s.last {
		s.last, s.since = number, now
	}
	return now.Sub(s.since)
}

// moved is how far the number has come.
func (s *silence) moved() int64 { return s.last - s.first }

// looks is how often a watch looks within the time after which it gives up. The bytes are not counted before the first
// time, since most waits end before: so it gives up late by one part, or two.
const looks = 4

// watch ends a wait in which nothing moves.
type watch struct {
	end func()

	mu    sync.Mutex
	timer *time.Timer
	wait  *wait // nil while nothing is waited for
	began time.Time
	own   silence // of the connection
	all   silence // of all connections
}

// wait is what a watch can be for. It is made once, and the watch is started with it often.
type wait struct {
	limit  time.Duration
	isOver func(*watch) bool
}

func newWatch(end func()) *watch {
	w := &watch{end: end}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
	return w
}

// start begins a wait, in place of the one before.
func (w *watch) start(wait *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wait, w.began = wait, time.Now()
	w.own, w.all = silence{}, silence{}
	w.timer.Reset(wait.every())
}

// stop ends the wait.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wait = nil
	w.timer.Stop()
}

// look looks whether it is time to end the wait.
func (w *watch) look() {
	w.mu.Lock()
	over := w.wait != nil && w.wait.isOver(w)
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

func (w *wait) every() time.Duration { return max(w.limit/looks, time.Millisecond) }

// Keepalive of gRPC asks a peer that says nothing whether it is there. Its answer has to wait behind whatever is on its
// way, and gRPC sees only what is complete; so it is our own watches that give a connection up. They count the bytes of
// an answer as those of any other: it comes late enough for a wait that has no other bytes to end before it.
const pingPatience = 24 * time.Hour

// pingAfter is how long nothing complete comes before gRPC asks.
func pingAfter(limit time.Duration) time.Duration { return max(limit+limit/2, leastPing) }

// leastPing is the least time that gRPC has for that in a client.
const leastPing = 10 * time.Second

// closePatience is how long connections are waited for that have something to send to a client who does not take it.
const closePatience = 500 * time.Millisecond
