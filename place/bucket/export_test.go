package bucket

import (
	"context"
	"sync"
	"time"
)

// LimitListing changes how many entries ReadDir returns at once, and how many answers may make a page.
func LimitListing(p Place, entries, answers int) {
	p.(*bucket).maxEntries, p.(*bucket).maxAnswers = entries, answers
}

// LimitRemoval changes how long a new upload removes abandoned ones.
func LimitRemoval(p Place, limit time.Duration) { p.(*bucket).store.(*s3Store).timeout = limit }

// Rush makes a place give up requests that have failed for the timeout on a clock of its own, on which pauses pass at
// once, and time only with them and with [Silence]. So it does not matter how long the requests themselves take.
func Rush(p Place, timeout time.Duration) {
	p.(*bucket).clock, p.(*bucket).Timeout = &rushedClock{time: time.Now()}, timeout
}

type rushedClock struct {
	mu   sync.Mutex
	time time.Time
}

func (c *rushedClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time
}

func (c *rushedClock) wait(ctx context.Context, pause time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(pause)
	return ctx.Err() == nil
}

// Silence lets the patience with a connection of a place that [Rush] has changed come to its end. The connection, which
// is named by its local address, is one on which nothing moves any more.
func Silence(p Place, address string) {
	b := p.(*bucket)
	for _, conn := range b.connections.from(address) {
		// The place may be about to set another deadline.
		for tick := time.NewTicker(time.Millisecond); b.connections.has(conn); <-tick.C {
			if err := conn.SetDeadline(time.Unix(1, 0)); err != nil {
				break // it has been closed
			}
		}
		b.clock.(*rushedClock).wait(context.Background(), b.Timeout/2)
	}
}

func (c *connections) from(address string) (all []*connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		if conn.LocalAddr().String() == address {
			all = append(all, conn)
		}
	}
	return all
}

func (c *connections) has(conn *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[conn]
}
