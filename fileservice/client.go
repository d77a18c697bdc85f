package fileservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"

	"culvert/fileservice/internal/fileservicepb"
)

// The settings of a client where ClientConfig has 0.
const (
	DefaultConnections = 4
	DefaultTimeout     = 30 * time.Second
	DefaultMaxEntries  = 1 << 20
)

// ClientConfig says how a client reaches its server.
type ClientConfig struct {
	// Dial makes a connection to the server. It is required, and may be called by several goroutines at once. What is
	// encrypted is its affair.
	Dial func(context.Context) (net.Conn, error)

	// Connections is how many connections there are. Each is made when it is first needed, and again after it broke.
	Connections int

	// Timeout is how long anything may take that can be waited for: a connection, and each message of an answer. When
	// it has passed, the connection is given up and the call ends with ErrUnreachable. A message has up to 256 KiB,
	// which on a slow line all calls together have to get within this time.
	Timeout time.Duration

	// MaxEntries is how many entries a directory may have. A listing that goes beyond ends with ErrIntegrity.
	MaxEntries int
}

// A Client reads, lists and writes the files of a server. It implements fs.FS, fs.ReadDirFS, fs.StatFS and
// fs.ReadFileFS, and its regular files io.ReaderAt, io.Seeker and io.WriterTo. These have no context; for them Close
// ends what is under way, and Timeout what the server does not answer. All methods may be called at once.
//
// What the server says is checked before it is handed out; see [ErrIntegrity].
type Client struct {
	config ClientConfig
	links  []*link
	turn   atomic.Uint64
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	close  sync.Once
}

// errClientClosed ends the calls of a client.
var errClientClosed = errors.New("fileservice: the client is closed")

// NewClient makes a client. It makes no connection before one is needed.
func NewClient(config ClientConfig) (*Client, error) {
	switch {
	case config.Dial == nil:
		return nil, errors.New("fileservice: a client needs a dialer")
	case config.Connections < 0 || config.Connections > 1024:
		return nil, fmt.Errorf("fileservice: %d connections are out of range", config.Connections)
	case config.Timeout < 0:
		return nil, fmt.Errorf("fileservice: a time limit of %v is out of range", config.Timeout)
	case config.MaxEntries < 0:
		return nil, fmt.Errorf("fileservice: a limit of %d entries is out of range", config.MaxEntries)
	}
	setDefault(&config.Connections, DefaultConnections)
	setDefault(&config.Timeout, DefaultTimeout)
	setDefault(&config.MaxEntries, DefaultMaxEntries)
	c := &Client{config: config}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	frames := newFramePool(config.Connections * readWindow)
	for range config.Connections {
		l, err := newLink(&c.config, frames)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.links = append(c.links, l)
	}
	return c, nil
}

// Close ends all calls and connections. A Client that is closed gives errors. To close it again does nothing.
func (c *Client) Close() error {
	var errs []error
	c.close.Do(func() {
		c.cancel(errClientClosed)
		for _, l := range c.links {
			errs = append(errs, l.grpc.Close())
		}
	})
	return errors.Join(errs...)
}

// link is one connection to the server, made again whenever it broke.
type link struct {
	grpc    *grpc.ClientConn
	service fileservicepb.FileServiceClient
	busy    atomic.Int64 // calls

	mu    sync.Mutex
	conn  net.Conn // the present one
	calls map[*clientCall]struct{}
}

func newLink(config *ClientConfig, frames *framePool) (*link, error) {
	l := &link{calls: map[*clientCall]struct{}{}}
	conn, err := grpc.NewClient("passthrough:///culvert",
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the dialer has seen to that
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return l.dial(ctx, config.Dial)
		}),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0), // the server has one
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(newCodec()),
			grpc.MaxCallRecvMsgSize(maxMessage),
			grpc.MaxCallSendMsgSize(maxMessage),
			grpc.WaitForReady(true), // until a dial fails, or Timeout has passed
		),
		grpc.WithStaticStreamWindowSize(callWindow),
		grpc.WithStaticConnWindowSize(readWindow),
		grpc.WithMaxHeaderListSize(16<<10),
		grpc.WithReadBufferSize(ioBufferSize),
		grpc.WithWriteBufferSize(ioBufferSize),
		experimental.WithBufferPool(frames),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: config.Timeout, Timeout: config.Timeout}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second,
			},
			MinConnectTimeout: config.Timeout,
		}),
	)
	if err != nil {
		return nil, err
	}
	l.grpc, l.service = conn, fileservicepb.NewFileServiceClient(conn)
	return l, nil
}

// dialError is why a call got no connection. gRPC would try again, and make text of it.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// dial makes a connection. If that fails it ends the calls that wait for it: there are no others, since gRPC dials when
// it has no connection. A call that comes later waits for the next attempt.
func (l *link) dial(ctx context.Context, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	conn, err := dial(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.conn = nil
		for call := range l.calls {
			call.cancel(&dialError{err})
		}
		return nil, err
	}
	l.conn = conn
	return conn, nil
}

// drop gives the present connection up, so that the next call makes a new one.
func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close() // it is of no use any more
		l.conn = nil
	}
}

func (l *link) add(call *clientCall) {
	l.busy.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[call] = struct{}{}
}

func (l *link) remove(call *clientCall) {
	l.busy.Add(-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, call)
}
