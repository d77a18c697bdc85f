// Package server serves a tree of files over the protocol of package fileservice.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/internal/wire"
	"culvert/internal/publish"
)

// Defaults of Config.
const (
	DefaultMaxConnections   = 128 // fourteen clients
	DefaultMaxCalls         = 64
	DefaultMaxBuffers       = 96
	DefaultHandshakeTimeout = 10 * time.Second
	DefaultStallTimeout     = time.Minute
	DefaultIdleTimeout      = 15 * time.Minute
)

// Config configures a server. The listener decides who may connect, and Authorize may decide too; every accepted peer
// may read.
//
// With n active peers, each can use 1/(n+1) of a limit. Connections belong to one peer if they have a method Peer()
// string, like those of package secureconn, and it returns the same text, not "", after the handshake. Any other
// connection is a peer of its own.
type Config struct {
	// Root is the tree to serve. It is required. The server reads and writes nothing outside it, wherever links lead.
	// The caller closes it after the server.
	Root *os.Root

	// Writable lets clients write into the tree.
	Writable bool

	// MaxConnections limits the connections, which peers share, and also the handshakes under way. A client has one
	// connection for gRPC and opens others for the bytes of files. It needs one of each kind, so the least share of a
	// peer is two.
	//
	// If all places are taken, a new connection gets that of the one that has been without a call for the longest time,
	// if that is at least a sixth of StallTimeout. The client of the closed connection connects again when it needs to.
	// If no connection has been idle for so long, the new one is closed at once, and its client uses its other ones. A
	// peer without a connection of that kind still gets a place: of one of its own, or of one that another peer has
	// beyond its share. If that one moves bytes, it first answers the requests that it has received, for up to
	// StallTimeout; so there may be up to 16 connections more.
	MaxConnections int

	// MaxCalls limits the concurrent calls on one connection of gRPC. Further calls are refused. On a connection for
	// bytes, at most MaxCalls requests wait for their turn, and the server reads no further until one has ended.
	MaxCalls int

	// MaxBuffers is the number of buffers of 256 KiB for data to send, which peers share. A writable server has as much
	// memory for the data of blocks and small files that it receives. Requests wait for a buffer.
	MaxBuffers int

	// HandshakeTimeout limits the handshake of a connection. If MaxConnections handshakes are under way, a new one
	// takes the place of one from the address that has most of them, or else of one from its own.
	HandshakeTimeout time.Duration

	// StallTimeout is how long a call or request waits for a client that accepts or sends no byte on its connection.
	// Then the connection is closed. Any byte counts, so a line may be slow.
	StallTimeout time.Duration

	// IdleTimeout is how long a connection of either kind is kept without calls. The client connects again when it
	// needs to.
	IdleTimeout time.Duration

	// Reflection lets clients ask for the description of the protocol, as grpcurl does.
	Reflection bool

	// Authorize is called for each connection after its handshake, concurrently, and must not block. An error closes
	// the connection and is passed to Observer.Rejected. If Authorize is nil, every connection is accepted.
	Authorize func(Peer) error

	// Observer is notified of connections and calls.
	Observer Observer
}

// A Peer is the other end of a connection.
type Peer struct {
	// Fingerprint is the result of the connection's method Peer after the handshake, or "" if it has none. Connections
	// of package secureconn return the fingerprint of the key that the other end has proved to hold.
	Fingerprint string

	// Addr is the address of the other end.
	Addr net.Addr
}

// An Observer is notified of the events of a server. Its functions are called concurrently, and the server waits for
// them. Nil functions are not called.
type Observer struct {
	// Connected and Disconnected are called for each connection, after its handshake and after its end.
	Connected, Disconnected func(net.Addr)

	// Rejected is called for connections that failed in their handshake, were not authorized, or were too many.
	Rejected func(net.Addr, error)

	// Called is called at the end of each call, and of each request that moves bytes.
	Called func(Call)
}

// A Call describes one call for an Observer.
type Call struct {
	// Method is the name in fileservice.proto, such as Stat, or of the request for bytes: Get, GetDraft, PutBlock,
	// PutDraft or PutFiles.
	Method string

	// Peer is the address of the caller, and Fingerprint its fingerprint; see [Peer].
	Peer        net.Addr
	Fingerprint string

	// Path is the file, or the directory of several files, or "" if the client did not name a valid path.
	Path string

	// BytesRead and BytesWritten count file content.
	BytesRead, BytesWritten int64

	// Start is when the call began, and Duration how long it took.
	Start    time.Time
	Duration time.Duration

	// Err is nil if the call succeeded.
	Err error
}

// A Server serves a tree of files to the connections of any number of listeners. Its methods are safe for concurrent
// use.
type Server struct {
	config  Config
	grpc    *grpc.Server
	uploads uploads
	drafts  drafts
	conns   connections
	left    sync.WaitGroup // runs removeAllLeft and closeLeft
	health  *health.Server
	life    context.Context // ends with Shutdown or Close
	stop    context.CancelFunc
}

// service has the methods of fileservice.proto, which only gRPC calls.
type service struct {
	pb.UnimplementedFileServiceServer
	*Server
}

// New returns a server that accepts no connections before Serve. If it is writable, it removes from the tree, in the
// background, the drafts that killed servers have left, and uploads of which nothing has come for a week.
func New(config Config) (*Server, error) {
	if config.Root == nil {
		return nil, errors.New("fileservice: a server needs a root")
	}
	for _, n := range []int{config.MaxConnections, config.MaxCalls, config.MaxBuffers} {
		if n < 0 || n > 1<<20 {
			return nil, fmt.Errorf("fileservice: a limit of %d is out of range", n)
		}
	}
	for _, d := range []time.Duration{config.HandshakeTimeout, config.StallTimeout, config.IdleTimeout} {
		if d < 0 {
			return nil, fmt.Errorf("fileservice: a time limit of %v is out of range", d)
		}
	}
	config.MaxConnections = cmp.Or(config.MaxConnections, DefaultMaxConnections)
	config.MaxCalls = cmp.Or(config.MaxCalls, DefaultMaxCalls)
	config.MaxBuffers = cmp.Or(config.MaxBuffers, DefaultMaxBuffers)
	config.HandshakeTimeout = cmp.Or(config.HandshakeTimeout, DefaultHandshakeTimeout)
	config.StallTimeout = cmp.Or(config.StallTimeout, DefaultStallTimeout)
	config.IdleTimeout = cmp.Or(config.IdleTimeout, DefaultIdleTimeout)

	s := &Server{
		config: config,
		health: health.NewServer(),
	}
	s.life, s.stop = context.WithCancel(context.Background())
	if config.Writable {
		publisher, err := publish.NewPublisher(config.Root)
		if err != nil {
			return nil, err
		}
		s.uploads = uploads{
			leases: newLeases[string, *upload](maxUploads), root: config.Root, publisher: publisher,
			silence: min(config.StallTimeout, silentUpload),
		}
		s.drafts = drafts{
			leases: newLeases[draftID, *openedDraft](maxDrafts), root: config.Root, publisher: publisher,
		}
	}
	s.conns.init(&s.config, s.newSession)
	s.grpc = grpc.NewServer(s.options()...)
	pb.RegisterFileServiceServer(s.grpc, service{Server: s})
	healthpb.RegisterHealthServer(s.grpc, s.health)
	if config.Reflection {
		reflection.Register(s.grpc)
	}
	if config.Writable {
		s.left.Go(func() { s.removeAllLeft(".", 0) })
		s.left.Go(s.closeLeft)
	}
	return s, nil
}

// A window is the data in transit on a connection, and on each of its calls. The window of a call bounds memory: gRPC
// reads the connection whether or not calls have consumed earlier data. It may be small, because the bytes of files
// have connections of their own.
const (
	window         = 64 << 10
	sendBufferSize = 512 << 10
)

// handlerWorkers is the number of goroutines that gRPC reuses for calls. A new goroutine must grow its stack, a sixth
// of the time of a small call. If all are busy, calls get new goroutines.
const handlerWorkers = 8

// maxRequest returns the size of the largest message that the server accepts.
func (s *Server) maxRequest() int {
	if s.config.Writable {
		return wire.MaxMessage
	}
	return window
}

func (s *Server) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(&s.conns),
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(window),
		grpc.MaxRecvMsgSize(s.maxRequest()),
		grpc.MaxSendMsgSize(wire.MaxMessage),
		grpc.MaxHeaderListSize(16 << 10),
		grpc.MaxConcurrentStreams(uint32(s.config.MaxCalls)),
		grpc.WriteBufferSize(sendBufferSize),
		grpc.ReadBufferSize(32 << 10),
		grpc.ConnectionTimeout(s.config.HandshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: s.config.IdleTimeout,
			Time:              traffic.PingAfter(s.config.StallTimeout),
			Timeout:           traffic.PingPatience,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: 10 * time.Second, PermitWithoutStream: true,
		}),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
		grpc.WaitForHandlers(true),
		grpc.NumStreamWorkers(handlerWorkers),
	}
}

// Serve accepts connections from the listener until Shutdown or Close, and then returns nil. Otherwise it returns the
// error of Accept. It closes the listener.
func (s *Server) Serve(listener net.Listener) error {
	err := s.grpc.Serve(&limitedListener{Listener: listener, conns: &s.conns})
	if s.life.Err() != nil {
		return nil
	}
	return err
}

// Shutdown refuses new connections and calls, waits for the calls under way, and closes the server. If ctx ends first,
// it closes the server like Close, and returns the cause. Partial uploads can be resumed from another server.
func (s *Server) Shutdown(ctx context.Context) error {
	s.end()
	s.conns.closePending()
	s.conns.shutDown()
	cut := context.AfterFunc(ctx, s.cut)
	s.grpc.GracefulStop()
	s.conns.sessions.Wait()
	var err error
	if !cut() {
		err = context.Cause(ctx)
	}
	s.left.Wait()
	return errors.Join(err, s.drafts.closeAll(), s.uploads.close())
}

// Close ends all calls and connections, and waits for their end.
func (s *Server) Close() error {
	s.end()
	s.conns.closePending()
	s.cut()
	s.left.Wait()
	return errors.Join(s.drafts.closeAll(), s.uploads.close())
}

// closeLeft closes the uploads and drafts that clients have left, until the server ends.
func (s *Server) closeLeft() {
	ticker := time.NewTicker(max(s.config.StallTimeout/leaseParts, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			received := s.conns.received()
			s.uploads.closeLeft(received)
			s.drafts.closeLeft(received)
		case <-s.life.Done():
			return
		}
	}
}

// end reports through the health service that the server stops.
func (s *Server) end() {
	s.stop()
	s.health.Shutdown()
}

// cut ends all calls and connections.
func (s *Server) cut() {
	s.conns.cutAll(s.conns.established)
	s.grpc.Stop()
	s.conns.sessions.Wait()
}
