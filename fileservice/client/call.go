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

// call is one call of a client under way.
type call struct {
	client *core
	link   *link
	dial   int // which connection of the link
	ctx    context.Context
	cancel context.CancelCauseFunc
	unhook func() bool // from the context of the client
	watch  *traffic.Watch
	answer *traffic.Wait // for the server
	pauses *traffic.Wait // for something else
	op     string
	name   string // as errors tell it
	path   string // on the server
}

// errSilent ends a call whose server says nothing.
var errSilent = errors.New("no answer in time")

// errClosedAtOnce is what a server does that has too many connections.
var errClosedAtOnce = errors.New("the other end has closed the connection as soon as it was made")

// begin starts a call on a connection. If that cannot be made, another one that is there will do: a server may have no
// room for as many as we would like.
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
			call.cancel(&dialError{errClosedAtOnce}) // unless there is another cause already
		}
	}
	if err := call.link.open(); err != nil {
		return nil, call.end(err) // the client was closed meanwhile
	}
	call.dial = call.link.present()
	return call, nil
}

func (c *Client) newCall(ctx context.Context, l *link, op, name string) *call {
	call := &call{client: c.core, link: l, op: op, name: name, path: c.at(name)}
	call.ctx, call.cancel = context.WithCancelCause(ctx)
	call.unhook = context.AfterFunc(c.life, func() { call.cancel(ErrClosed) })
	call.watch = traffic.NewWatch(func() { call.cancel(errSilent) })
	call.answer = &traffic.Wait{Limit: c.config.Timeout, IsOver: call.isSilent}
	call.pauses = &traffic.Wait{Limit: traffic.PingAfter(c.config.Timeout) + c.config.Timeout, IsOver: call.isGone}
	call.advance()
	l.add(call)
	return call
}

// advance says that the server has said something. From now on it may be silent for the client's Timeout.
func (c *call) advance() { c.watch.Start(c.answer) }

// pause is for the time in which something else than the server is awaited: the caller, or the disk of the server.
func (c *call) pause() { c.watch.Start(c.pauses) }

// maxAhead is how many bytes may move on all connections of a client, before those that a call waits for come: more
// than the messages of all calls, and what the connections have queued. Whatever moves beyond does not show that the
// server is at work for this call.
const maxAhead = 64 << 20

// isSilent reports whether the server has been silent for too long. Connections share a line, so that one of them may
// have to wait for all others.
func (c *call) isSilent(w *traffic.Watch) bool {
	limit := c.client.config.Timeout
	own, all := w.Own.See(c.link.moved()), w.All.See(c.client.Moved())
	return all >= limit || own >= limit*c.client.busyLinks() || w.All.Moved() > maxAhead && time.Since(w.Began) >= limit
}

// isGone reports whether the server has said nothing although gRPC has asked it.
func (c *call) isGone(w *traffic.Watch) bool {
	limit := c.pauses.Limit
	own, all := w.Own.See(c.link.moved()), w.All.See(c.client.Moved())
	return all >= limit || own >= limit*c.client.busyLinks()
}

// release gives the resources of the call back.
func (c *call) release() {
	c.watch.Stop()
	c.unhook()
	c.cancel(nil)
	c.link.remove(c)
}

// end ends the call, and gives its error the form that callers get.
func (c *call) end(err error) error {
	cause := context.Cause(c.ctx)
	c.release()
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: c.op, Path: c.name, Err: c.explain(err, cause)}
}

func (c *call) explain(err, cause error) error {
	if _, is := status.FromError(err); !is {
		return err
	}
	if closed := context.Cause(c.client.life); closed != nil {
		cause = closed // of which the call may not have been told yet
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
		// gRPC itself found something that is no answer.
		return fmt.Errorf("%w: %s", fileservice.ErrIntegrity, wire.Printable(status.Convert(err).Message()))
	case status.Code(err) == codes.Canceled:
		// Not by us.
		return fmt.Errorf("%w: %s", fileservice.ErrUnreachable, wire.Printable(status.Convert(err).Message()))
	}
	return wire.FromStatus(err)
}

// isTooLong reports whether an error is that of gRPC for a message of more than maxMessage. It has the code of a server
// that refuses; a server says the same of a request that is too long, but there are none.
func isTooLong(err error) bool {
	const said = "grpc: received message larger than max"
	s := status.Convert(err)
	return s.Code() == codes.ResourceExhausted && strings.HasPrefix(s.Message(), said)
}

// receive takes the next message of a stream, of which the end is not expected.
func receive(call *call, receive func(any) error, message any) error {
	err := receive(message)
	call.advance()
	if err == io.EOF {
		return fmt.Errorf("%w: it ends too early", fileservice.ErrIntegrity)
	}
	return err
}
