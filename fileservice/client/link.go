package client

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/internal/wire"
)

// window is the HTTP/2 flow control window, of the connection and of each call. Listings are the longest answers.
const window = 1 << 20

// link is the connection of gRPC to the server, which reopens it when it breaks.
type link struct {
	*core
	busy atomic.Int64 // calls

	grpc    *grpc.ClientConn
	service fileservicepb.FileServiceClient

	mu   sync.Mutex
	conn *traffic.Conn // nil if there is none
	err  error         // of the last attempt to dial
}

// newLink returns a link that connects when it is first used.
func newLink(c *core) (*link, error) {
	l := &link{core: c}
	var err error
	if l.grpc, err = grpc.NewClient("passthrough:///culvert", l.options()...); err != nil {
		return nil, err
	}
	l.service = fileservicepb.NewFileServiceClient(l.grpc)
	return l, nil
}

func (l *link) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()), // Config.Dial encrypts
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return l.dial(ctx)
		}),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0), // the server has one
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(wire.MaxMessage),
			grpc.MaxCallSendMsgSize(wire.MaxMessage),
		),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
		grpc.WithMaxHeaderListSize(16 << 10),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: traffic.PingAfter(l.config.Timeout), Timeout: traffic.PingPatience,
		}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second,
			},
			MinConnectTimeout: l.config.Timeout,
		}),
	}
}

// dial opens the connection. It keeps the error, which gRPC would reduce to text.
func (l *link) dial(ctx context.Context) (net.Conn, error) {
	conn, err := l.config.Dial(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.err = nil, err
	if err != nil {
		return nil, err
	}
	l.conn = traffic.NewConn(conn)
	l.delay.Store(0) // the way to the server may be another one now
	return l.conn, nil
}

// await waits for the connection, or until an attempt to open it fails. A server that has too many connections closes a
// new one right away, which the dialer does not notice.
func (l *link) await(ctx context.Context) error {
	for state := l.grpc.GetState(); state != connectivity.Ready; {
		if state == connectivity.Idle {
			l.grpc.Connect()
		}
		if !l.grpc.WaitForStateChange(ctx, state) {
			return status.FromContextError(ctx.Err()).Err()
		}
		state = l.grpc.GetState()
		if state == connectivity.TransientFailure || state == connectivity.Shutdown {
			l.mu.Lock()
			defer l.mu.Unlock()
			return fmt.Errorf("%w: %w", fileservice.ErrUnreachable, cmp.Or(l.err, errClosedAtOnce))
		}
	}
	return nil
}

// present returns the current connection, or nil.
func (l *link) present() *traffic.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// drop closes a connection, so that the next call opens another.
func (l *link) drop(conn *traffic.Conn) {
	if conn == nil {
		return
	}
	traffic.Cut(conn)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == conn {
		l.conn = nil
	}
}

// close closes the connection, and waits only a short time for the server to take what is still to be sent.
func (l *link) close() error {
	cut := time.AfterFunc(traffic.ClosePatience, func() { l.drop(l.present()) })
	defer cut.Stop()
	return l.grpc.Close()
}

// moved returns the number of bytes that the connection has moved.
func (l *link) moved() int64 {
	conn := l.present()
	if conn == nil {
		return 0
	}
	return moved(conn)
}
