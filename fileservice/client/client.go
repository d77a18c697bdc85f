// Package client reads and writes the files of a server over the protocol of package fileservice. A [Client] is an
// io/fs.FS whose regular files are io.ReaderAt. Its methods that take a context and a version are the calls that
// transfers consist of.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/internal/wire"
)

// The settings of a client where Config has 0.
const (
	DefaultConnections = 8
	DefaultTimeout     = 30 * time.Second
	DefaultMaxEntries  = 1 << 20
)

// Config says how a client reaches its server.
type Config struct {
	// Dial makes a connection to the server. It is required, and may be called by several goroutines at once. What is
	// encrypted is its affair, and so is to read ahead, as package secureconn does: it is asked for small pieces.
	Dial func(context.Context) (net.Conn, error)

	// Connections is how many connections there are. Each is made when it is first needed, and again after it broke. If
	// the server does not take as many, calls go over those that it has taken.
	Connections int

	// Timeout is how long the server may be silent. It bounds the time to make a connection, and the time that a call
	// waits while the server neither sends nor takes a byte. Then the connection is given up and the call ends with
	// ErrUnreachable. Bytes of any call on any connection count, so that a line may be slow. But if nothing moves on
	// one connection while others are busy, that one is given up after Timeout for each busy connection. A call that
	// is not answered while 64 MiB move for others is given up when Timeout has passed.
	Timeout time.Duration

	// MaxEntries is how many entries a directory may have. A listing that goes beyond ends with ErrIntegrity.
	MaxEntries int
}

// A Client reads, lists and writes the files of a server. It implements fs.FS, fs.ReadDirFS, fs.StatFS, fs.ReadFileFS
// and fs.ReadLinkFS, and its regular files io.ReaderAt, io.Seeker and io.WriterTo. These have no context; for them
// Close ends what is under way, and Timeout what the server does not answer. All methods may be called at once.
//
// What the server says is checked before it is handed out; see [ErrIntegrity].
type Client struct {
	*core
	ctx context.Context // of calls that are given none
	dir string          // which names are below
}

// core is what the clients share that are made from one another.
type core struct {
	config   Config
	links    []*link
	turn     atomic.Uint64
	contents atomic.Int64 // bytes that open files hold
	pending  atomic.Int64 // bytes that drafts hold
	streams  atomic.Int64 // streams of drafts
	delay    atomic.Int64 // nanoseconds, the least that an answer has taken; 0 if there was none
	pieces   pieces
	life     context.Context // ends with Close
	cancel   context.CancelCauseFunc
	close    sync.Once
}

// ErrClosed ends the calls of a client.
var ErrClosed = errors.New("fileservice: the client is closed")

// NewClient makes a client. It makes no connection before one is needed.
func New(config Config) (*Client, error) {
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
	config.Connections = cmp.Or(config.Connections, DefaultConnections)
	config.Timeout = cmp.Or(config.Timeout, DefaultTimeout)
	config.MaxEntries = cmp.Or(config.MaxEntries, DefaultMaxEntries)
	c := &Client{core: &core{config: config}, dir: "."}
	c.life, c.cancel = context.WithCancelCause(context.Background())
	c.ctx = c.life
	c.pieces.client, c.pieces.wake = c, make(chan struct{}, manyLanes)
	frames := newFramePool(c.MostLarge() * callWindow)
	for range config.Connections {
		c.links = append(c.links, &link{core: c.core, frames: frames, calls: map[*call]struct{}{}})
	}
	if err := c.links[0].open(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// WithContext returns a client for the same connections, whose methods that take no context end with ctx, as do the files
// that it opens.
func (c *Client) WithContext(ctx context.Context) *Client {
	return &Client{core: c.core, ctx: ctx, dir: c.dir}
}

// Sub returns a client for the same connections, whose names are those below a directory. It does not ask the server.
// Close closes the connections of all clients that share them.
func (c *Client) Sub(dir string) (*Client, error) {
	if _, err := fileservice.CheckPath(dir); err != nil {
		return nil, &fs.PathError{Op: "sub", Path: dir, Err: err}
	}
	return &Client{core: c.core, ctx: c.ctx, dir: c.at(dir)}, nil
}

// at returns the path on the server of a valid name.
func (c *Client) at(name string) string {
	if c.dir == "." {
		return name
	}
	return path.Join(c.dir, name)
}

// heard takes note of how long an answer has taken, on a connection that was there.
func (c *core) heard(delay time.Duration) {
	for {
		least := c.delay.Load()
		if least != 0 && least <= int64(delay) || c.delay.CompareAndSwap(least, max(1, int64(delay))) {
			return
		}
	}
}

// isNear reports whether the server has answered within nearServer.
func (c *core) isNear() bool {
	delay := c.delay.Load()
	return delay > 0 && delay <= int64(nearServer)
}

// Moved returns how many bytes the present connections have received and sent, for all calls. A change of it shows that
// the server can be reached; the number has no other meaning.
func (c *core) Moved() (bytes int64) {
	for _, l := range c.links {
		bytes += l.moved()
	}
	return bytes
}

// busyLinks returns how many connections have calls.
func (c *core) busyLinks() (n time.Duration) {
	for _, l := range c.links {
		if l.busy.Load() > 0 {
			n++
		}
	}
	return n
}

// pick gives the connection with the fewest calls of those that will do; of several, one that is there. It is nil if
// none will do.
func (c *core) pick(willDo func(*link) bool) *link {
	start := int((c.turn.Add(1) - 1) % uint64(len(c.links)))
	var best *link
	for i := range c.links {
		l := c.links[(start+i)%len(c.links)]
		if !willDo(l) {
			continue
		}
		if best == nil {
			best = l
			continue
		}
		more := l.busy.Load() - best.busy.Load()
		if more < 0 || more == 0 && l.isReady() && !best.isReady() {
			best = l
		}
	}
	return best
}

// largeCalls is how many calls with blocks of files there are at once, if there are not more connections.
const largeCalls = 8

// MostLarge is how many calls with blocks of files make full use of the connections.
func (c *core) MostLarge() int { return max(largeCalls, c.config.Connections) }

// Connect begins to make all connections, so that none has to be waited for when the first has something to do.
func (c *core) Connect() {
	for _, l := range c.links {
		if l.open() == nil {
			l.grpc.Connect()
		}
	}
}

// Close ends all calls and connections. A Client that is closed gives errors. To close it again does nothing.
func (c *core) Close() error {
	var errs []error
	c.close.Do(func() {
		c.cancel(ErrClosed)
		errs = make([]error, len(c.links))
		var closing sync.WaitGroup
		for i, l := range c.links {
			closing.Go(func() { errs[i] = l.close() })
		}
		closing.Wait()
	})
	return errors.Join(errs...)
}

// The windows say how much data may be under way on a connection and on one of its calls; see those of a server.
const (
	callWindow        = 3 << 20
	nearWindow        = 1 << 20 // where the server is near: fills a way of 5 ms with 200 MB/s
	readWindow        = largeCalls * callWindow
	requestBufferSize = 64 << 10
)

// receiveBufferSize is that of a client, for the headers of frames. Data goes past it, without another copy: what
// comes is read in large pieces by the connection already.
const receiveBufferSize = 1 << 10

// link is one connection to the server, made again whenever it broke.
type link struct {
	*core
	frames *framePool
	busy   atomic.Int64 // calls

	opened  sync.Once
	openErr error
	isOpen  atomic.Bool // grpc and service are there
	grpc    *grpc.ClientConn
	service fileservicepb.FileServiceClient

	mu    sync.Mutex
	conn  *traffic.Conn // the present one; nil if it was given up
	dials int           // that have made one
	calls map[*call]struct{}
}

// open readies the link, when it is first of use: by then there may have been an answer over another one, and the
// windows can suit the way.
func (l *link) open() error {
	l.opened.Do(func() {
		config, window := &l.config, int32(callWindow)
		if l.isNear() {
			window = nearWindow
		}
		l.grpc, l.openErr = grpc.NewClient("passthrough:///culvert", l.options(config, window)...)
		if l.openErr == nil {
			l.service = fileservicepb.NewFileServiceClient(l.grpc)
			l.isOpen.Store(true)
		}
	})
	return l.openErr
}

func (l *link) options(config *Config, window int32) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the dialer has seen to that
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return l.dial(ctx, config.Dial)
		}),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0), // the server has one
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(wire.NewCodec()),
			grpc.MaxCallRecvMsgSize(wire.MaxMessage),
			grpc.MaxCallSendMsgSize(wire.MaxMessage),
			grpc.WaitForReady(true), // until a dial fails, or Timeout has passed
		),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(readWindow),
		grpc.WithMaxHeaderListSize(16 << 10),
		grpc.WithReadBufferSize(receiveBufferSize),
		grpc.WithWriteBufferSize(requestBufferSize),
		experimental.WithBufferPool(l.frames),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: traffic.PingAfter(config.Timeout), Timeout: traffic.PingPatience,
		}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second,
			},
			MinConnectTimeout: config.Timeout,
		}),
	}
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
	l.conn = traffic.NewConn(conn)
	l.dials++
	return l.conn, nil
}

// isReady reports whether there is a connection.
func (l *link) isReady() bool { return l.isOpen.Load() && l.grpc.GetState() == connectivity.Ready }

// isSound reports whether the last attempt to make a connection did not fail.
func (l *link) isSound() bool {
	return !l.isOpen.Load() || l.grpc.GetState() != connectivity.TransientFailure
}

// await waits until there is a connection, and reports whether there is one. A server that has too many closes it when
// it is made, of which the dialer knows nothing.
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

// present says which connection it has, by how many there have been.
func (l *link) present() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials
}

// drop gives a connection up, so that the next call makes a new one. One that came after it is left alone.
func (l *link) drop(dial int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil || l.dials != dial {
		return
	}
	if inner, is := l.conn.Conn.(interface{ NetConn() net.Conn }); is {
		_ = inner.NetConn().Close() // else the end of the encryption would wait for the other end to take it
	}
	_ = l.conn.Close() // it is of no use any more
	l.conn = nil
}

// close ends the connection, which the other end is told if it takes that soon.
func (l *link) close() error {
	l.opened.Do(func() { l.openErr = ErrClosed })
	if !l.isOpen.Load() {
		return nil
	}
	cut := time.AfterFunc(traffic.ClosePatience, func() { l.drop(l.present()) })
	defer cut.Stop()
	return l.grpc.Close()
}

// moved returns how many bytes the connection has moved.
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
