package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	dial   int // identifies the connection of the link
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

// begin starts a call on a connection. If that cannot be opened, begin uses another open one, because the server may
// accept fewer connections than Config.Connections.
func (c *Client) begin(ctx context.Context, op, name string) (*call, error) {
	if _, err := fileservice.CheckPath(name); err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	if err := context.Cause(c.life); err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	l := c.pick((*link).isSound)
	if l == nil {
		l = c.pick(func(*link) bool { return true })
	}
	call := c.newCall(ctx, l, op, name)
	if !l.await(call.ctx) {
		if l = c.pick((*link).isReady); l != nil && ctx.Err() == nil {
			call.release()
			call = c.newCall(ctx, l, op, name)
		} else {
			call.cancel(&dialError{errClosedAtOnce}) // keeps an earlier cause
		}
	}
	if err := call.link.open(); err != nil {
		return nil, call.end(err) // the client was closed meanwhile
	}
	call.dial = call.link.present()
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

func (c *Client) newCall(ctx context.Context, l *link, op, name string) *call {
	call := &call{client: c, link: l, op: op, name: name, path: c.at(name)}
	call.ctx, call.cancel = context.WithCancelCause(ctx)
	call.unhook = context.AfterFunc(c.life, func() { call.cancel(ErrClosed) })
	call.watch = traffic.NewWatch(func() { call.cancel(errSilent) })
	call.answer = &traffic.Wait{Limit: c.config.Timeout, IsOver: call.isSilent}
	call.pauses = &traffic.Wait{Limit: traffic.PingAfter(c.config.Timeout) + c.config.Timeout, IsOver: call.isGone}
	call.advance()
	l.add(call)
	return call
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

// isStuck reports whether nothing moves. Connections share a line, so one of them may have to wait for all others.
func (c *call) isStuck(w *traffic.Watch, limit time.Duration) bool {
	own, all := w.Own.See(c.link.moved()), w.All.See(c.client.Moved())
	return all >= limit || own >= limit*c.client.busyLinks()
}

// release frees the resources of the call.
func (c *call) release() {
	c.watch.Stop()
	c.unhook()
	c.cancel(nil)
	c.link.remove(c)
}

// end ends the call, and returns its error in the form for callers.
func (c *call) end(err error) error {
	cause := context.Cause(c.ctx)
	c.release()
	if err == nil {
		return nil
	}
	if failed, is := errors.AsType[yieldError](err); is {
		return failed.error
	}
	return &fs.PathError{Op: c.op, Path: c.name, Err: c.explain(err, cause)}
}

// yieldError is an error of the caller's function, which the call returns unchanged.
type yieldError struct{ error }

func (c *call) explain(err, cause error) error {
	if _, is := status.FromError(err); !is {
		return err
	}
	if closed := context.Cause(c.client.life); closed != nil {
		cause = closed // the call may not have been canceled yet
	}
	switch {
	case cause == errSilent:
		c.link.drop(c.dial)
		return fmt.Errorf("%w: %w", fileservice.ErrUnreachable, errSilent)
	case cause != nil:
		if dialErr, is := errors.AsType[*dialError](cause); is {
			return fmt.Errorf("%w: %w", fileservice.ErrUnreachable, dialErr.error)
		}
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

// receive receives the next message of a stream that must not end here.
func receive(call *call, receive func(any) error, message any) error {
	err := receive(message)
	call.advance()
	if err == io.EOF {
		return fmt.Errorf("%w: the stream ended early", fileservice.ErrIntegrity)
	}
	return err
}
