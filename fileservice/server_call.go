package fileservice

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
)

// serverCall is one call while a server works on it.
type serverCall struct {
	server *Server
	conn   *serverConn
	about  Call
	told   bool      // the handler itself tells the observer
	answer *outgoing // in place of what the handler returns
	watch  *watch    // runs while the client is waited for; nil if it never is
}

type serverCallKey struct{}

// begin starts what is common to all calls, and gives what ends it.
func (s *Server) begin(ctx context.Context, method string) (context.Context, *serverCall) {
	conn := connOf(ctx)
	conn.calls.Add(1)
	call := &serverCall{server: s, conn: conn}
	call.about = Call{Method: path.Base(method), Peer: conn.RemoteAddr(), Start: time.Now()}
	return context.WithValue(ctx, serverCallKey{}, call), call
}

// callOf gives the call that a handler works on.
func callOf(ctx context.Context) *serverCall { return ctx.Value(serverCallKey{}).(*serverCall) }

// open checks the path that a client names, and remembers it for the observer.
func (c *serverCall) open(name string) (local string, err error) {
	if local, err = checkPath(name); err != nil {
		return "", err
	}
	c.about.Path = name
	for element := range strings.SplitSeq(name, "/") {
		if isDraft(element) {
			return "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
	}
	return local, nil
}

func (c *serverCall) end(err error) error {
	c.conn.use()
	c.conn.calls.Add(-1)
	if !c.told {
		c.tell(err)
	}
	return toStatus(err)
}

// tell tells the observer of the call.
func (c *serverCall) tell(err error) {
	c.about.Duration = time.Since(c.about.Start)
	c.about.Err = err
	if c.server.config.Observer.Called != nil {
		c.server.config.Observer.Called(c.about)
	}
}

func (s *Server) unary(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	ctx, call := s.begin(ctx, info.FullMethod)
	response, err := handler(ctx, request)
	if call.answer != nil {
		response = call.answer
	}
	return response, call.end(err)
}

func (s *Server) stream(
	service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler,
) error {
	ctx, call := s.begin(stream.Context(), info.FullMethod)
	call.watch = newWatch(func() {
		_ = call.conn.Close() // the calls on it end with the error of that
	})
	limit, traffic := s.config.StallTimeout, &call.conn.traffic
	waiting := &serverStream{ServerStream: stream, ctx: ctx, watch: call.watch}
	waiting.taking = &wait{limit: limit, isOver: func(w *watch) bool {
		_, sent := traffic.moved()
		return w.own.see(sent) >= limit
	}}
	waiting.sending = &wait{limit: limit, isOver: func(w *watch) bool {
		received, _ := traffic.moved()
		return w.own.see(received) >= limit
	}}
	err := handler(service, waiting)
	call.watch.stop()
	return call.end(err)
}

// serverStream is a stream that waits for its client while that takes, or sends, anything on its connection.
type serverStream struct {
	grpc.ServerStream
	ctx             context.Context
	watch           *watch
	taking, sending *wait // what the client does
}

func (s *serverStream) Context() context.Context { return s.ctx }

func (s *serverStream) SendMsg(message any) error {
	s.watch.start(s.taking)
	defer s.watch.stop()
	return s.ServerStream.SendMsg(message)
}

func (s *serverStream) RecvMsg(message any) error {
	s.watch.start(s.sending)
	defer s.watch.stop()
	return s.ServerStream.RecvMsg(message)
}

// refused makes an ErrRefused that says why.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRefused}, args...)...)
}

// errNotWritable has the errno of a file system that is not writable, so that a transfer ends with the first file.
var errNotWritable error = &remoteError{kind: ErrRefused, errno: syscall.EROFS, text: "it is not writable"}
