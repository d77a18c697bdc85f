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

// The limits of a server where Config has 0.
const (
	DefaultMaxConnections   = 128 // sixteen clients
	DefaultMaxCalls         = 64
	DefaultMaxBuffers       = 96
	DefaultHandshakeTimeout = 10 * time.Second
	DefaultStallTimeout     = time.Minute
	DefaultIdleTimeout      = 15 * time.Minute
)

// Config says what a server serves, to whom it listens and how much it takes upon itself. The listener says who
// may connect; a server believes that whoever connects may read.
//
// With n peers at work, each can have 1/(n+1) of what the limits allow. Connections are of one peer if they have a
// method Peer() string, as those of package secureconn have, that returns the same text after the handshake, unless
// that is "". Any other connection is a peer of its own.
type Config struct {
	// Root is the tree that is served. Nothing outside it is read or written, whatever links lead there. It is
	// required, and the caller closes it after the server.
	Root *os.Root

	// Writable lets clients write into the tree.
	Writable bool

	// MaxConnections is how many connections there may be at once, of which each peer has its share, and how many more
	// may be in their handshake. For a further one, the connection that has been without a call for the longest time is
	// closed, if that time is a sixth of StallTimeout; its client makes a new one when it needs it. If there is none,
	// the new connection is closed at once, and its client goes on with the others that it has. A peer without any
	// connection takes the place of one that another peer has beyond its share.
	MaxConnections int

	// MaxCalls is how many calls there may be at once on one connection. A call beyond that is refused.
	MaxCalls int

	// MaxBuffers is how many buffers of 256 KiB there are for data on its way to clients, in all connections together,
	// and a writable server has as much for data that comes. Calls wait for one, and each peer has its share.
	MaxBuffers int

	// HandshakeTimeout is how long a connection may take until it can be used.
	HandshakeTimeout time.Duration

	// StallTimeout is how long a call waits for a client that takes or sends no byte on its connection. Then the
	// connection is closed. Any byte counts, so that a line may be slow.
	StallTimeout time.Duration

	// IdleTimeout is how long a connection without calls is kept. The client makes a new one when it needs it.
	IdleTimeout time.Duration

	// Reflection lets clients ask for the description of the protocol, as grpcurl does.
	Reflection bool

	// Authorize decides about each connection after its handshake. An error closes the connection, and
	// Observer.Rejected hears of it. It is called concurrently, must not block, and may be nil: then every connection
	// is accepted.
	Authorize func(Peer) error

	// Observer hears of what the server does.
	Observer Observer
}

// A Peer is the other end of a connection.
type Peer struct {
	// Fingerprint is what the method Peer of the connection returns after the handshake. A connection of package
	// secureconn returns the fingerprint of the key that the other end has proved to hold. It is "" if there is no such
	// method.
	Fingerprint string

	// Addr is the address at the other end.
	Addr net.Addr
}

// An Observer hears of what a server does, to count it. Functions that are nil are not called, the others by several
// goroutines at once, which wait for them.
type Observer struct {
	// Connected and Disconnected hear of each connection, after its handshake and after its end.
	Connected, Disconnected func(net.Addr)

	// Rejected hears of connections that failed in their handshake or were too many.
	Rejected func(net.Addr, error)

	// Called hears of each call, at its end, and of each request of ReadPieces as if it were one.
	Called func(Call)
}

// A Call is what an Observer hears of one call.
type Call struct {
	// Method is its name in fileservice.proto, such as Read.
	Method string

	// Peer is the address of the caller, and Fingerprint is that of its key; see [Peer].
	Peer        net.Addr
	Fingerprint string

	// Path is the file, or the directory of several, or "" if what the client named is not a path.
	Path string

	// BytesRead and BytesWritten are of the content of the file.
	BytesRead, BytesWritten int64

	// Start is when it came, and Duration how long it took.
	Start    time.Time
	Duration time.Duration

	// Err is nil if it succeeded.
	Err error
}

// A Server serves a tree of files over the connections of any number of listeners. All its methods may be called at
// once.
type Server struct {
	config  Config
	grpc    *grpc.Server
	uploads uploads
	drafts  drafts
	smalls  *shares // of calls that write small files
	conns   connections
	left    sync.WaitGroup // of what removes drafts that were left
	health  *health.Server
	done    chan struct{}
	stop    sync.Once
}

// service has the methods of fileservice.proto. Only gRPC calls them.
type service struct {
	pb.UnimplementedFileServiceServer
	*Server
}

// NewServer makes a server. It takes no connections until Serve. A writable server begins to remove the drafts that an
// earlier one has left in the tree, and goes on until it has seen the whole tree.
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
		smalls: newShares(maxBlocks(&config), maxBlocks(&config)),
		health: health.NewServer(),
		done:   make(chan struct{}),
	}
	if config.Writable {
		publisher, err := publish.NewPublisher(config.Root)
		if err != nil {
			return nil, err
		}
		s.uploads = uploads{
			root: config.Root, publisher: publisher, idle: config.StallTimeout,
			silence: min(config.StallTimeout, silentUpload), open: map[string]*upload{},
			places: newShares(maxUploads, maxUploads),
		}
		s.drafts = drafts{
			root: config.Root, publisher: publisher, idle: config.StallTimeout,
			open: map[draftID]*openedDraft{}, places: newShares(maxDrafts, maxDrafts),
		}
	}
	s.conns.init(&s.config)
	s.grpc = grpc.NewServer(s.options()...)
	pb.RegisterFileServiceServer(s.grpc, service{Server: s})
	healthpb.RegisterHealthServer(s.grpc, s.health)
	if config.Reflection {
		reflection.Register(s.grpc)
	}
	if config.Writable {
		s.left.Go(func() { s.removeAllLeft(".", 0) })
	}
	return s, nil
}

// The windows say how much data may be under way to one end on one connection and on one of its calls. gRPC adapts
// them otherwise, which takes round trips, and stops at 16 MiB. A client reads; a server takes data only if it is
// writable, and gives what a request needs else. What bounds memory is the window of a call: gRPC takes from the
// connection whatever the calls have done with what came before.
const (
	writeWindow    = 2 << 20
	requestWindow  = 64 << 10
	sendBufferSize = 512 << 10
)

// handlerWorkers are goroutines that stay for the next call. A new one has to grow its stack each time, which was a
// sixth of the time of a small call. Where all are taken, calls get goroutines of their own.
const handlerWorkers = 8

// maxRequest returns the size of the longest message that the server accepts.
func (s *Server) maxRequest() int {
	if s.config.Writable {
		return wire.MaxMessage
	}
	return requestWindow
}

func (s *Server) options() []grpc.ServerOption {
	window := int32(requestWindow)
	if s.config.Writable {
		window = writeWindow
	}
	return []grpc.ServerOption{
		grpc.Creds(&s.conns),
		grpc.ForceServerCodecV2(wire.NewCodec()),
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

// Serve takes connections from the listener until Shutdown or Close, and gives nil then. Otherwise it gives the error
// of Accept. It closes the listener.
func (s *Server) Serve(listener net.Listener) error {
	err := s.grpc.Serve(&limitedListener{Listener: listener, conns: &s.conns})
	select {
	case <-s.done:
		return nil
	default:
		return err
	}
}

// Shutdown takes no more connections and no more calls, waits for those under way, and ends. If the context ends
// before, it ends as Close does and gives the cause. What was uploaded in part can be resumed from another server.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop.Do(s.end)
	s.conns.closePending()
	cut := context.AfterFunc(ctx, s.cut)
	s.grpc.GracefulStop()
	var err error
	if !cut() {
		err = context.Cause(ctx)
	}
	s.left.Wait()
	return errors.Join(err, s.drafts.closeAll(), s.uploads.closeAll())
}

// Close ends all calls and connections, and waits until they have ended.
func (s *Server) Close() error {
	s.stop.Do(s.end)
	s.conns.closePending()
	s.cut()
	s.left.Wait()
	return errors.Join(s.drafts.closeAll(), s.uploads.closeAll())
}

// end tells those who ask for the server's health that it stops.
func (s *Server) end() {
	close(s.done)
	s.health.Shutdown()
}

// cut ends all calls and connections.
func (s *Server) cut() {
	s.conns.closeEstablished()
	s.grpc.Stop()
}
