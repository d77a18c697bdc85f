package server

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"culvert/fileservice"
	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/internal/wire"
)

// call is the state of one call.
type call struct {
	server *Server
	conn   *peerConn
	about  Call
	told   bool           // the handler calls tell itself
	answer *wire.Outgoing // replaces the handler's response
	watch  *traffic.Watch // runs while a stream waits for the client; nil for unary calls
}

type callKey struct{}

// begin begins a call. The caller ends it with end.
func (s *Server) begin(ctx context.Context, method string) (context.Context, *call) {
	conn := connOf(ctx)
	conn.calls.Add(1)
	call := &call{server: s, conn: conn, about: Call{
		Method: path.Base(method), Peer: conn.RemoteAddr(), Fingerprint: conn.peer.fingerprint, Start: time.Now(),
	}}
	return context.WithValue(ctx, callKey{}, call), call
}

// callOf returns the call of a handler.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// open checks the path that a client names, and records it for the observer.
func (c *call) open(name string) (local string, err error) {
	if local, err = fileservice.CheckPath(name); err != nil {
		return "", err
	}
	c.about.Path = name
	for element := range strings.SplitSeq(name, "/") {
		if fileservice.IsDraft(element) {
			return "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
	}
	return local, nil
}

func (c *call) end(err error) error {
	c.conn.use()
	c.conn.calls.Add(-1)
	if !c.told {
		c.tell(err)
	}
	return wire.ToStatus(err)
}

// tell reports the call to the observer.
func (c *call) tell(err error) {
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
	if info.FullMethod == healthpb.Health_Watch_FullMethodName { // its client never ends it
		watching, cancel := context.WithCancel(ctx)
		defer cancel()
		ctx = watching
		go func() {
			select {
			case <-s.done:
				cancel()
			case <-watching.Done():
			}
		}()
	}
	call.watch = traffic.NewWatch(func() {
		_ = call.conn.Close() // which ends the calls on it with an error
	})
	limit, moving := s.config.StallTimeout, &call.conn.Traffic
	waiting := &serverStream{ServerStream: stream, ctx: ctx, watch: call.watch}
	waiting.taking = &traffic.Wait{Limit: limit, IsOver: func(w *traffic.Watch) bool {
		_, sent := moving.Moved()
		return w.Own.See(sent) >= limit
	}}
	waiting.sending = &traffic.Wait{Limit: limit, IsOver: func(w *traffic.Watch) bool {
		received, _ := moving.Moved()
		return w.Own.See(received) >= limit
	}}
	err := handler(service, waiting)
	call.watch.Stop()
	return call.end(err)
}

// serverStream waits for its client while that accepts or sends any byte on its connection.
type serverStream struct {
	grpc.ServerStream
	ctx             context.Context
	watch           *traffic.Watch
	taking, sending *traffic.Wait // of the client
}

func (s *serverStream) Context() context.Context { return s.ctx }

func (s *serverStream) SendMsg(message any) error {
	s.watch.Start(s.taking)
	defer s.watch.Stop()
	return s.ServerStream.SendMsg(message)
}

func (s *serverStream) RecvMsg(message any) error {
	s.watch.Start(s.sending)
	defer s.watch.Stop()
	return s.ServerStream.RecvMsg(message)
}

// refused returns an ErrRefused with a reason.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{fileservice.ErrRefused}, args...)...)
}

// errNotWritable has the errno of a read-only file system, so that a transfer ends at the first file.
var errNotWritable error = &wire.Error{Kind: fileservice.ErrRefused, Errno: syscall.EROFS, Text: "it is not writable"}
