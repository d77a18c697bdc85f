package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/internal/wire"
)

// dataLink is one of the connections that move bytes. It is opened when it is needed, and reopened after it broke. The
// lock of core guards it.
type dataLink struct {
	conn    *exchange.Conn // nil if there is none
	counted *traffic.Conn  // below conn
	dialing *dialing       // nil if no goroutine dials
	refused time.Time      // when connecting failed
}

// dialing is an attempt to connect. The result is set when done is closed.
type dialing struct {
	done  chan struct{}
	conn  *exchange.Conn
	err   error
	asked int // what the calls cost that wait for it; guarded by the lock of core
}

// enough is what the calls of a connection cost, in bytes, before the next call uses another one.
const enough = 1 << 20

// refusedFor is how long a link is avoided after connecting failed: the server may have too many connections.
const refusedFor = time.Second

// worthWaiting is how long a get waits for a connection that is being opened, while another one is open.
const worthWaiting = time.Second

// pick returns the open connection whose calls cost least, if any. If all are busy, it starts to open another one. It
// also returns the attempt to open one that is worth waiting for: if no connection is open, or, for gets, if the calls
// that wait for it cost less. Over a long line, gets that all went to the first connection would leave the others idle.
// Puts do not wait: over a slow line, blocks that were all sent at once would all arrive late. After Close, pick
// returns nothing.
func (c *core) pick(put bool) (best *exchange.Conn, attempt *dialing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return nil, nil
	}
	var closed *dataLink
	least := 0
	for _, l := range c.usefulData() {
		switch {
		case l.conn != nil:
			if asked := l.conn.Asked(); best == nil || asked < least {
				best, least = l.conn, asked
			}
			if least == 0 {
				return best, nil
			}
		case l.dialing != nil:
			if attempt == nil || !put && l.dialing.asked < attempt.asked {
				attempt = l.dialing
			}
		case closed == nil && time.Since(l.refused) > refusedFor:
			closed = l
		}
	}
	switch {
	case best != nil && least < enough:
		return best, nil
	case attempt == nil && closed != nil:
		attempt = c.connect(closed)
	case best == nil && attempt == nil:
		attempt = c.connect(c.data[0]) // refused a short time ago, but without a connection each call tries again
	}
	if best != nil && (put || attempt != nil && attempt.asked >= least) {
		attempt = nil
	}
	return best, attempt
}

// connect starts to connect. mu is held, and the client is not closed.
func (c *core) connect(l *dataLink) *dialing {
	d := &dialing{done: make(chan struct{})}
	l.dialing = d
	c.background.Go(func() { c.dial(l, d) })
	return d
}

func (c *core) dial(l *dataLink, d *dialing) {
	defer close(d.done)
	ctx, cancel := context.WithTimeoutCause(c.life, c.config.Timeout, errSilent)
	defer cancel()
	conn, err := c.config.Dial(ctx)
	if err == nil {
		d.conn, err = c.begin(ctx, l, conn)
	}
	if closed := context.Cause(c.life); err != nil && closed != nil {
		err = closed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		l.refused = time.Now()
	}
	l.dialing, d.err = nil, err
}

// begin takes over a new connection.
func (c *core) begin(ctx context.Context, l *dataLink, conn net.Conn) (*exchange.Conn, error) {
	counted, over := traffic.NewConn(conn), false
	var this *exchange.Conn
	watch := traffic.NewWatch(func() { this.Fail(errSilent) })
	this, err := exchange.NewConn(ctx, counted, c.config.Timeout, func() {
		c.mu.Lock()
		l.conn, l.counted, over = nil, nil, true
		c.mu.Unlock()
		watch.Stop()
	})
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, exchange.ErrMessage):
		return nil, err
	default:
		return nil, fmt.Errorf("%w: %w", errClosedAtOnce, err)
	}
	c.mu.Lock()
	c.asked, c.unfit = true, nil // it has accepted one
	closed := context.Cause(c.life)
	if closed == nil && !over {
		l.conn, l.counted = this, counted
		c.background.Go(this.Wait)
		watch.Start(&traffic.Wait{Limit: c.config.Timeout, IsOver: func(w *traffic.Watch) bool {
			if this.Asked() == 0 {
				w.Own, w.All = traffic.Silence{}, traffic.Silence{}
				return false
			}
			return c.isStuck(w, moved(counted), c.config.Timeout) || c.isDeaf(this)
		}})
	}
	c.mu.Unlock()
	switch {
	case closed != nil:
		this.Fail(closed)
		this.Wait()
		return nil, closed
	case over:
		return nil, fmt.Errorf("%w: %w", errClosedAtOnce, exchange.ErrEnded)
	}
	return this, nil
}

// isDeaf reports whether requests do not reach the server any more, although it says that it is alive. On a line that
// others share, they may have to wait for all of them, unless those are no better off.
func (c *core) isDeaf(this *exchange.Conn) bool {
	limit := c.config.Timeout
	own := this.Deaf()
	if own < limit {
		return false
	}
	c.mu.Lock()
	all := !slices.ContainsFunc(c.data, func(l *dataLink) bool {
		return l.conn != nil && l.conn.Asked() > 0 && l.conn.Deaf() < limit
	})
	c.mu.Unlock()
	return all || own >= limit*c.busyLinks()
}

func moved(conn *traffic.Conn) int64 {
	received, sent := conn.Traffic.Moved()
	return received + sent
}

// attempts is how often a call is made whose connection ends.
const attempts = 3

// start starts calls on one connection, which it opens if there is none.
func (c *core) start(ctx context.Context, calls ...*exchange.Call) (*exchange.Conn, error) {
	for attempt := 1; ; attempt++ {
		conn, err := c.connection(ctx, calls)
		if err == nil {
			err = conn.Start(calls...)
		}
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, errClosedAtOnce) && attempt < len(c.data), isEnd(err) && attempt < attempts:
		case errors.Is(err, errClosedAtOnce):
			return nil, unreachable(cmp.Or(c.checkServer(ctx), err))
		default:
			return nil, unreachable(err)
		}
	}
}

// checkServer returns an error if the server says that it speaks another version of the protocol. One of version 1
// closes a connection for bytes, because it knows only those of gRPC. It asks once: if the server is full instead, the
// connection for the question could take the place of one for bytes, again and again.
func (c *core) checkServer(ctx context.Context) error {
	c.mu.Lock()
	asked, unfit := c.asked, c.unfit
	c.asked = true
	c.mu.Unlock()
	if asked {
		return unfit
	}
	capabilities, err := (&Client{core: c, ctx: ctx, dir: "."}).Capabilities(ctx)
	if err != nil {
		return nil //nolint:nilerr // the caller has an error that says as much
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unfit = capabilities.Check()
	return c.unfit
}

// connection returns an open connection for calls. If there is none and none can be opened, it returns the reason.
func (c *core) connection(ctx context.Context, calls []*exchange.Call) (*exchange.Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	conn, attempt := c.pick(calls[0].Kind.IsPut())
	switch {
	case attempt != nil:
	case conn != nil:
		return conn, nil
	default:
		return nil, context.Cause(c.life)
	}
	c.mu.Lock()
	for _, call := range calls {
		attempt.asked += call.Cost()
	}
	c.mu.Unlock()
	var late <-chan time.Time
	if conn != nil {
		late = time.After(worthWaiting)
	}
	select {
	case <-attempt.done:
		if attempt.err == nil || conn == nil {
			return attempt.conn, attempt.err
		}
	case <-late:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return conn, nil
}

// unreachable returns an error of a connection in the form for callers.
func unreachable(err error) error {
	switch _, remote := errors.AsType[*wire.Error](err); {
	case err == nil, remote, errors.Is(err, fileservice.ErrUnreachable), errors.Is(err, fileservice.ErrIntegrity),
		errors.Is(err, ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, errors.ErrUnsupported):
		return err
	}
	return fmt.Errorf("%w: %w", fileservice.ErrUnreachable, err)
}

// isEnd reports whether a call failed only because its connection has ended.
func isEnd(err error) bool { return errors.Is(err, exchange.ErrEnded) }
