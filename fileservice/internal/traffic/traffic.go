// Package traffic counts the bytes that a connection moves, and ends waits during which none move.
package traffic

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

// Conn is a connection whose traffic is counted.
type Conn struct {
	net.Conn
	Traffic traffic
}

// countedWrite is how many bytes are written at once to a connection that does not count them.
const countedWrite = 32 << 10

func NewConn(conn net.Conn) *Conn {
	c := &Conn{Conn: conn}
	for below := conn; below != nil; {
		if ask := kernelTraffic(below); ask != nil {
			c.Traffic.ask = ask // what is in the queue of the kernel was not taken yet
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

// Moved returns how many bytes have come, and how many were taken. Only that they change has a meaning.
func (t *traffic) Moved() (received, sent int64) {
	if t.ask != nil {
		return t.ask()
	}
	return t.received.Load(), t.sent.Load()
}

// Silence is how long a number has not changed.
type Silence struct {
	Known bool
	first int64 // the number when it was seen first
	Last  int64
	since time.Time
}

// See takes note of the number, and returns how long it has been the same.
func (s *Silence) See(number int64) time.Duration {
	now := time.Now()
	if !s.Known {
		s.Known, s.first, s.Last, s.since = true, number, number, now
	}
	if number != s.Last {
		s.Last, s.since = number, now
	}
	return now.Sub(s.since)
}

// Moved is how far the number has come.
func (s *Silence) Moved() int64 { return s.Last - s.first }

// looks is how often a watch looks within the time after which it gives up. The bytes are not counted before the first
// time, since most waits end before: so it gives up late by one part, or two.
const looks = 4

// Watch ends a wait in which nothing moves.
type Watch struct {
	end func()

	mu    sync.Mutex
	timer *time.Timer
	wait  *Wait // nil while nothing is waited for
	Began time.Time
	Own   Silence // of the connection
	All   Silence // of all connections
}

// Wait is what a watch can be for. It is made once, and the watch is started with it often.
type Wait struct {
	Limit  time.Duration
	IsOver func(*Watch) bool
}

func NewWatch(end func()) *Watch {
	w := &Watch{end: end}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
	return w
}

// Start begins a wait, in place of the one before.
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

// look looks whether it is time to end the wait.
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

// Keepalive of gRPC asks a peer that says nothing whether it is there. Its answer has to wait behind whatever is on its
// way, and gRPC sees only what is complete; so it is our own watches that give a connection up. They count the bytes of
// an answer as those of any other: it comes late enough for a wait that has no other bytes to end before it.
const PingPatience = 24 * time.Hour

// PingAfter is how long nothing complete comes before gRPC asks.
func PingAfter(limit time.Duration) time.Duration { return max(limit+limit/2, leastPing) }

// leastPing is the least time that gRPC has for that in a client.
const leastPing = 10 * time.Second

// ClosePatience is how long connections are waited for that have something to send to a client who does not take it.
const ClosePatience = 500 * time.Millisecond
