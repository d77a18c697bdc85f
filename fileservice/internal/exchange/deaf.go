package exchange

import "time"

// deafness is for how long a server has said that it is alive and waits for requests, although some were sent and it
// receives none of them. Then the way to it is dead, although the way back is not. Only what the server says counts, so
// that neither a slow disk nor a slow line looks like it.
type deafness struct {
	since, until time.Time // of messages that say so; zero if the last one does not
	received     int       // what they say
}

// hear records an ALIVE. mu is held.
func (c *Conn) hear(h *header) {
	switch now := time.Now(); {
	case h.flags&flagListening == 0 || !c.hasSentAfter(h.id):
		c.deaf = deafness{}
	case c.deaf.since.IsZero() || h.length != c.deaf.received:
		c.deaf = deafness{since: now, until: now, received: h.length}
	default:
		c.deaf.until = now
	}
}

// hasSentAfter reports whether a call is in progress that is newer than the one of an id. IDs grow, and begin again at
// the end of their range. mu is held.
func (c *Conn) hasSentAfter(id uint32) bool {
	for _, call := range c.calls {
		if int32(call.id-id) > 0 {
			return true
		}
	}
	return false
}

// Deaf returns for how long the server has said that it waits for requests, although it has not received those that
// were sent.
func (c *Conn) Deaf() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaf.until.Sub(c.deaf.since)
}
