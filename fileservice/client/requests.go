package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
)

// request is a get or a put.
type request struct {
	exchange.Call                // the part in progress; all of it at the beginning, and when await has returned
	whole         exchange.Call  // what was asked for
	parts         parts          // of whole
	conn          *exchange.Conn // nil before it has started, and after it has ended
	err           error          // why it did not start
	done          chan error
	buffer        *bytebuf.Buffer // of Into or Data; nil if they belong to the caller
}

func newRequest(call exchange.Call, buffer *bytebuf.Buffer) *request {
	r := &request{Call: call, buffer: buffer, done: make(chan error, 1)}
	r.Done = func(err error) { r.done <- err }
	r.whole = r.Call
	r.parts.size = exchange.MaxLength
	return r
}

// await waits for the end of a request that was started. If its connection has ended, for example because the server
// closes those that are idle, await asks for the rest on another one. Files are sent again only if the server has not
// written them.
func (c *Client) await(ctx context.Context, r *request) error {
	var ended error // of the first connection; it says more than why there is no other one
	for attempt := 1; ; attempt++ {
		err, mayRepeat := r.err, false
		if r.conn != nil {
			select {
			case err = <-r.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			r.conn = nil
			mayRepeat = r.Kind != exchange.PutFiles || errors.Is(err, exchange.ErrBye)
			if r.note(err) {
				attempt = 0
			}
		}
		switch {
		case err == nil && r.isComplete():
			r.join()
			return nil
		case err == nil, isEnd(err) && mayRepeat && attempt < attempts, r.isForgotten(err):
			ended = cmp.Or(ended, err)
			r.continues()
			r.conn, r.err = c.start(ctx, &r.Call)
		case errors.Is(err, fileservice.ErrUnreachable):
			r.join()
			return unreachable(cmp.Or(ended, err))
		default:
			r.join()
			return unreachable(err)
		}
	}
}

// leave abandons a request that was not waited for, and frees its memory.
func (r *request) leave() {
	switch {
	case r.conn == nil:
	case r.Kind.IsPut():
		go func() { // its data is being sent
			r.err = <-r.done
			r.free()
		}()
		return
	case !r.conn.Leave(&r.Call):
		r.err = <-r.done
	}
	r.free()
}

func (r *request) free() {
	if r.buffer != nil {
		r.buffer.Free()
		r.buffer = nil
	}
}

// get makes a get and waits for its end.
func (c *Client) get(ctx context.Context, what exchange.Request, into []byte) (*exchange.Call, error) {
	r := newRequest(exchange.Call{Request: what, Into: into}, nil)
	r.conn, r.err = c.start(ctx, &r.Call)
	if err := c.await(ctx, r); err != nil {
		r.leave()
		return nil, err
	}
	return &r.Call, nil
}

// requests are in progress at the same time. Their results are taken in order.
type requests struct {
	client *Client
	ctx    context.Context
	queue  []*request
	unsent int // the last ones of queue
}

// add adds a request, which the next send starts.
func (s *requests) add(call exchange.Call, buffer *bytebuf.Buffer) {
	s.queue = append(s.queue, newRequest(call, buffer))
	s.unsent++
}

// send starts requests together on one connection.
func (s *requests) send() {
	if s.unsent == 0 {
		return
	}
	unsent := s.queue[len(s.queue)-s.unsent:]
	s.unsent = 0
	calls := make([]*exchange.Call, len(unsent))
	for i, r := range unsent {
		calls[i] = &r.Call
	}
	conn, err := s.client.start(s.ctx, calls...)
	for _, r := range unsent {
		r.conn, r.err = conn, err
	}
}

// next waits for the first of the requests that are left. The space of a get belongs to the caller then.
func (s *requests) next() (*request, error) {
	s.send()
	r := s.queue[0]
	s.queue = s.queue[1:]
	err := s.client.await(s.ctx, r)
	switch {
	case err != nil:
		r.leave()
	case r.Kind.IsPut():
		r.free()
	}
	return r, err
}

// close leaves the requests that are left.
func (s *requests) close() {
	for _, r := range s.queue {
		r.leave()
	}
	s.queue = nil
}

// errShort is the error of a get that has not received all that it asked for.
var errShort = fmt.Errorf("%w: too few bytes", fileservice.ErrIntegrity)

func checkLength(call *exchange.Call) error {
	if call.N != call.Length {
		return fmt.Errorf("%w: %d of %d", errShort, call.N, call.Length)
	}
	return nil
}
