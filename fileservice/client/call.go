package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/internal/wire"
)

// call is a call in progress.
type call struct {
	client *Client
	link   *link
	conn   *traffic.Conn // of the link
	ctx    context.Context
	cancel context.CancelCauseFunc
	unhook func() bool // detaches the call from Close
	watch  *traffic.Watch
	answer *traffic.Wait // for the server
	pauses *traffic.Wait // for something else
	op     string
	name   string // in errors
	path   string // on the server
}

// errSilent ends a call if the server was silent for too long.
var errSilent = errors.New("no answer in time")

// errClosedAtOnce is what a server with too many connections causes.
var errClosedAtOnce = errors.New("the server closed the connection immediately")

// begin starts a call on the connection of gRPC.
func (c *Client) begin(ctx context.Context, op, name string) (*call, error) {
	path, err := c.checkName(op, name)
	if err != nil {
		return nil, err
	}
	call := &call{client: c, link: c.control, op: op, name: name, path: path}
	call.ctx, call.cancel = context.WithCancelCause(ctx)
	call.unhook = context.AfterFunc(c.life, func() { call.cancel(ErrClosed) })
	call.watch = traffic.NewWatch(func() { call.cancel(errSilent) })
	call.answer = &traffic.Wait{Limit: c.config.Timeout, IsOver: call.isSilent}
	call.pauses = &traffic.Wait{Limit: traffic.PingAfter(c.config.Timeout) + c.config.Timeout, IsOver: call.isGone}
	call.advance()
	call.link.busy.Add(1)
	err = call.link.await(call.ctx)
	call.conn = call.link.present()
	if err != nil {
		return nil, call.end(err)
	}
	return call, nil
}

// do makes a call that consists of one request and one response.
func (c *Client) do(ctx context.Context, op, name string, do func(*call) error) error {
	call, err := c.begin(ctx, op, name)
	if err != nil {
		return err
	}
	return call.end(do(call))
}

// advance records that the server has sent something. From now on it may be silent for Timeout.
func (c *call) advance() { c.watch.Start(c.answer) }

// pause begins a time in which the call waits for the caller or for the server's disk, not for the network.
func (c *call) pause() { c.watch.Start(c.pauses) }

// maxAhead bounds the bytes that may move on all connections before the bytes for which a call waits: more than the
// messages of all calls and the queues of the connections. If more moves, the server is not serving this call.
const maxAhead = 64 << 20

// isSilent reports whether the server has been silent for too long.
func (c *call) isSilent(w *traffic.Watch) bool {
	limit := c.client.config.Timeout
	return c.isStuck(w, limit) || w.All.Moved() > maxAhead && time.Since(w.Began) >= limit
}

// isGone reports whether the server does not even answer pings.
func (c *call) isGone(w *traffic.Watch) bool { return c.isStuck(w, c.pauses.Limit) }

func (c *call) isStuck(w *traffic.Watch, limit time.Duration) bool {
	return c.client.isStuck(w, c.link.moved(), limit)
}

// isStuck reports whether nothing moves on a connection that has moved some bytes. Connections share a line, so one of
// them may have to wait for all others.
func (c *core) isStuck(w *traffic.Watch, moved int64, limit time.Duration) bool {
	own, all := w.Own.See(moved), w.All.See(c.Moved())
	return all >= limit || own >= limit*max(1, c.busyLinks()) // the last call may just have ended
}

// end ends the call, and returns its error in the form for callers.
func (c *call) end(err error) error {
	cause := context.Cause(c.ctx)
	c.watch.Stop()
	c.unhook()
	c.cancel(nil)
	c.link.busy.Add(-1)
	return fault(c.op, c.name, c.explain(err, cause))
}

func (c *call) explain(err, cause error) error {
	if closed := context.Cause(c.client.life); closed != nil && err != nil {
		return closed // the call may not have been canceled yet
	}
	if _, is := status.FromError(err); err == nil || !is {
		return err
	}
	switch {
	case cause == errSilent:
		c.link.drop(c.conn)
		return fmt.Errorf("%w: %w", fileservice.ErrUnreachable, errSilent)
	case cause != nil:
		return cause
	case status.Code(err) == codes.Internal || isTooLong(err):
		// gRPC could not decode the answer.
		return fmt.Errorf("%w: %s", fileservice.ErrIntegrity, wire.Printable(status.Convert(err).Message()))
	case status.Code(err) == codes.Canceled:
		// The server or the transport canceled it.
		return fmt.Errorf("%w: %s", fileservice.ErrUnreachable, wire.Printable(status.Convert(err).Message()))
	}
	return wire.FromStatus(err)
}

// isTooLong reports whether gRPC refused a message longer than MaxMessage. A server uses the same code when it refuses
// a request, but requests are never too long.
func isTooLong(err error) bool {
	const said = "grpc: received message larger than max"
	s := status.Convert(err)
	return s.Code() == codes.ResourceExhausted && strings.HasPrefix(s.Message(), said)
}
