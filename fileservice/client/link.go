package client

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"

	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/internal/wire"
)

// The HTTP/2 flow control windows of a connection and of each of its calls. The server's are alike.
const (
	callWindow        = 3 << 20
	nearWindow        = 1 << 20 // for a near server: enough for 200 MB/s at 5 ms
	readWindow        = largeCalls * callWindow
	requestBufferSize = 64 << 10
)

// receiveBufferSize suits the headers of frames. Data bypasses the buffer, because the connection reads ahead already.
const receiveBufferSize = 1 << 10

// link is one connection to the server. gRPC reopens it when it breaks.
type link struct {
	*core
	frames *framePool
	busy   atomic.Int64 // calls

	opened  sync.Once
	openErr error
	isOpen  atomic.Bool // grpc and service are set
	grpc    *grpc.ClientConn
	service fileservicepb.FileServiceClient

	mu    sync.Mutex
	conn  *traffic.Conn // nil if there is none
	dials int           // successful ones
	calls map[*call]struct{}
}

// open sets the link up when it is first used. By then another connection may have measured the delay, on which the
// window depends.
func (l *link) open() error {
	l.opened.Do(func() {
		window := int32(callWindow)
		if l.isNear() {
			window = nearWindow
		}
		l.grpc, l.openErr = grpc.NewClient("passthrough:///culvert", l.options(window)...)
		if l.openErr == nil {
			l.service = fileservicepb.NewFileServiceClient(l.grpc)
			l.isOpen.Store(true)
		}
	})
	return l.openErr
}

func (l *link) options(window int32) []grpc.DialOption {
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
			grpc.ForceCodecV2(wire.NewCodec()),
			grpc.MaxCallRecvMsgSize(wire.MaxMessage),
			grpc.MaxCallSendMsgSize(wire.MaxMessage),
			grpc.WaitForReady(true), // until a dial fails or Timeout passes
		),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(readWindow),
		grpc.WithMaxHeaderListSize(16 << 10),
		grpc.WithReadBufferSize(receiveBufferSize),
		grpc.WithWriteBufferSize(requestBufferSize),
		experimental.WithBufferPool(l.frames),
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

// dialError is the reason why a call got no connection. gRPC would retry, and reduce the error to text.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// dial opens the connection. gRPC dials only if it has none, so a failure ends all calls of the link. Later calls wait
// for the next attempt.
func (l *link) dial(ctx context.Context) (net.Conn, error) {
	conn, err := l.config.Dial(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.conn = nil
		for call := range l.calls {
			call.cancel(&dialError{err})
		}
		return nil, err
	}
	l.conn = traffic.NewConn(conn)
	l.dials++
	return l.conn, nil
}

// isReady reports whether the connection is open.
func (l *link) isReady() bool { return l.isOpen.Load() && l.grpc.GetState() == connectivity.Ready }

// isSound reports whether the last attempt to connect did not fail.
func (l *link) isSound() bool {
	return !l.isOpen.Load() || l.grpc.GetState() != connectivity.TransientFailure
}

// await waits for the connection, and reports whether it is open. A server that has too many connections closes a new
// one right away, which the dialer does not notice.
func (l *link) await(ctx context.Context) bool {
	if l.open() != nil {
		return false
	}
	for state := l.grpc.GetState(); state != connectivity.Ready; {
		if state == connectivity.Idle {
			l.grpc.Connect()
		}
		if !l.grpc.WaitForStateChange(ctx, state) {
			return false
		}
		state = l.grpc.GetState()
		if state == connectivity.TransientFailure || state == connectivity.Shutdown {
			return false
		}
	}
	return true
}

// present identifies the current connection by the number of dials so far.
func (l *link) present() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials
}

// drop closes the connection that dial identifies, so that the next call opens another. It leaves a newer one alone.
func (l *link) drop(dial int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil || l.dials != dial {
		return
	}
	if inner, is := l.conn.Conn.(interface{ NetConn() net.Conn }); is {
		_ = inner.NetConn().Close() // closing the encrypted one would wait for the peer
	}
	_ = l.conn.Close()
	l.conn = nil
}

// close closes the connection. It gives the server a short time to take the farewell.
func (l *link) close() error {
	l.opened.Do(func() { l.openErr = ErrClosed })
	if !l.isOpen.Load() {
		return nil
	}
	cut := time.AfterFunc(traffic.ClosePatience, func() { l.drop(l.present()) })
	defer cut.Stop()
	return l.grpc.Close()
}

// moved returns the number of bytes that the connection has moved.
func (l *link) moved() int64 {
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn == nil {
		return 0
	}
	received, sent := conn.Traffic.Moved()
	return received + sent
}

func (l *link) add(call *call) {
	l.busy.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[call] = struct{}{}
}

func (l *link) remove(call *call) {
	l.busy.Add(-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, call)
}
