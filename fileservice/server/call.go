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
	"culvert/fileservice/internal/wire"
)

// call is the state of one call.
type call struct {
	server *Server
	conn   *peerConn
	about  Call
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

// names records the path that a request names, if it is valid.
func (c *call) names(request any) {
	named, is := request.(interface{ GetPath() string })
	if !is {
		return
	}
	if _, err := fileservice.CheckPath(named.GetPath()); err == nil {
		c.about.Path = named.GetPath()
	}
}

// readable checks the path that a client names.
func readable(name string) (local string, err error) {
	if local, err = fileservice.CheckPath(name); err != nil {
		return "", err
	}
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
	c.about.Duration = time.Since(c.about.Start)
	c.about.Err = err
	if c.server.config.Observer.Called != nil {
		c.server.config.Observer.Called(c.about)
	}
	return wire.ToStatus(err)
}

func (s *Server) unary(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	ctx, call := s.begin(ctx, info.FullMethod)
	call.names(request)
	response, err := handler(ctx, request)
	return response, call.end(err)
}

func (s *Server) stream(
	service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler,
) error {
	ctx, call := s.begin(stream.Context(), info.FullMethod)
	if info.FullMethod == healthpb.Health_Watch_FullMethodName { // its client never ends it
		watching, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		ctx = watching
	}
	return call.end(handler(service, &serverStream{ServerStream: stream, ctx: ctx, call: call}))
}

// serverStream tells its connection when it waits for its client.
type serverStream struct {
	grpc.ServerStream
	ctx  context.Context
	call *call
}

func (s *serverStream) Context() context.Context { return s.ctx }

func (s *serverStream) SendMsg(message any) error {
	s.call.conn.waiting.Add(1)
	defer s.call.conn.waiting.Add(-1)
	return s.ServerStream.SendMsg(message)
}

func (s *serverStream) RecvMsg(message any) error {
	s.call.conn.waiting.Add(1)
	defer s.call.conn.waiting.Add(-1)
	err := s.ServerStream.RecvMsg(message)
	if err == nil {
		s.call.names(message)
	}
	return err
}

// refused returns an ErrRefused with a reason.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{fileservice.ErrRefused}, args...)...)
}

// errNotWritable has the errno of a read-only file system, so that a transfer ends at the first file.
var errNotWritable error = &wire.Error{Kind: fileservice.ErrRefused, Errno: syscall.EROFS, Text: "it is not writable"}
