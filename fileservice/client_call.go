package fileservice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice/internal/fileservicepb"
)

// clientCall is one call of a client under way.
type clientCall struct {
	client *Client
	link   *link
	ctx    context.Context
	cancel context.CancelCauseFunc
	unhook func() bool // from the context of the client
	watch  *time.Timer
	op     string
	name   string
}

// errSilent ends a call whose server says nothing.
var errSilent = errors.New("no answer in time")

// begin picks the connection with the fewest calls.
func (c *Client) begin(ctx context.Context, op, name string) (*clientCall, error) {
	if _, err := checkPath(name); err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	if err := context.Cause(c.ctx); err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	start := int(c.turn.Add(1) % uint64(len(c.links)))
	best := c.links[start]
	for i := range c.links {
		if l := c.links[(start+i)%len(c.links)]; l.busy.Load() < best.busy.Load() {
			best = l
		}
	}
	call := &clientCall{client: c, link: best, op: op, name: name}
	call.ctx, call.cancel = context.WithCancelCause(ctx)
	call.unhook = context.AfterFunc(c.ctx, func() { call.cancel(errClientClosed) })
	call.watch = time.AfterFunc(c.config.Timeout, func() { call.cancel(errSilent) })
	best.add(call)
	return call, nil
}

// advance says that the server has said something.
func (c *clientCall) advance() { c.watch.Reset(c.client.config.Timeout) }

// pause takes the time out in which the caller, not the server, is awaited.
func (c *clientCall) pause() { c.watch.Stop() }

// end gives the resources of the call back, and its error the form that callers get.
func (c *clientCall) end(err error) error {
	c.watch.Stop()
	c.unhook()
	cause := context.Cause(c.ctx)
	c.cancel(nil)
	c.link.remove(c)
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: c.op, Path: c.name, Err: c.explain(err, cause)}
}

func (c *clientCall) explain(err, cause error) error {
	if _, is := status.FromError(err); !is {
		return err
	}
	switch {
	case cause == errSilent:
		c.link.drop()
		return fmt.Errorf("%w: %w", ErrUnreachable, errSilent)
	case cause != nil:
		if dialErr, is := errors.AsType[*dialError](cause); is {
			return fmt.Errorf("%w: %w", ErrUnreachable, dialErr.error)
		}
		return cause
	case status.Code(err) == codes.Internal:
		// gRPC itself found something that is no answer.
		return fmt.Errorf("%w: %s", ErrIntegrity, printable(status.Convert(err).Message()))
	}
	return fromStatus(err)
}

// Lookup describes one file. A symbolic link is described, not followed.
func (c *Client) Lookup(ctx context.Context, name string) (*Info, error) {
	call, err := c.begin(ctx, "stat", name)
	if err != nil {
		return nil, err
	}
	entry, err := call.link.service.Stat(call.ctx, &fileservicepb.StatRequest{Path: name})
	if err != nil {
		return nil, call.end(err)
	}
	info, err := infoOfMessage(entry, name)
	if err != nil {
		return nil, call.end(err)
	}
	return info, call.end(nil)
}

// receive takes the next message of a stream, of which the end is not expected.
func receive(call *clientCall, receive func(any) error, message any) error {
	err := receive(message)
	call.advance()
	if err == io.EOF {
		return fmt.Errorf("%w: it ends too early", ErrIntegrity)
	}
	return err
}
