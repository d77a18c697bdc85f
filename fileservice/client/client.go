// Package client accesses the files of a server over the protocol of package fileservice.
//
// To users a [Client] is a file system. It reads as an io/fs.FS whose regular files are io.ReaderAt. [Client.List]
// lists large directories. [Client.Create] and [Client.Replace] write a file from beginning to end; [Client.OpenFile]
// writes at any offset. Mkdir, Remove, Rename, Chmod and the like change names and attributes.
//
// Package transfer uses the methods that take a context and a [fileservice.Version]. They read and write blocks and
// small files, verify their sums, and resume uploads.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// The defaults of [Config].
const (
	DefaultConnections = 8
	DefaultTimeout     = 30 * time.Second
	DefaultMaxEntries  = 1 << 20
)

// Config configures a [Client].
type Config struct {
	// Dial connects to the server. It is required, and several goroutines may call it at once. Dial is responsible for
	// encryption.
	Dial func(context.Context) (net.Conn, error)

	// Connections limits the connections for the bytes of files, in addition to one for everything else. The client
	// opens each when it is first needed, and reopens it after it broke; to a server that answers within 5 ms, it opens
	// one for each processor, at least two. If the server accepts fewer, calls share the ones that it accepted. The
	// default is [DefaultConnections].
	Connections int

	// Timeout limits how long the server may be silent: while a connection is opened, and while a call waits and no
	// byte moves in either direction. Then the client closes the connection, and the call fails with ErrUnreachable.
	// Bytes of any call on any connection count, so a slow line is no reason to fail. A slow disk is none either: on
	// the connections for the bytes of files, a server sends signs of life. There are three exceptions. If nothing
	// moves on one connection while others are busy, the limit of that connection is Timeout for each busy connection.
	// A call that moves no bytes of files fails after Timeout if 64 MiB moved for other calls. Signs of life do not
	// count if they say that requests no longer reach the server. The default is [DefaultTimeout].
	Timeout time.Duration

	// MaxEntries limits the entries of a directory. Longer listings end with ErrIntegrity. The default is
	// [DefaultMaxEntries].
	MaxEntries int
}

// A Client reads, lists and writes the files of a server. It implements fs.FS, fs.ReadDirFS, fs.StatFS, fs.ReadFileFS
// and fs.ReadLinkFS. Its regular files implement io.ReaderAt, io.Seeker and io.WriterTo. Methods without a context end
// with Close, with the context of [Client.WithContext], or when the server is silent for Timeout. All methods are safe
// for concurrent use.
//
// A Client checks everything that the server sends; see [fileservice.ErrIntegrity].
type Client struct {
	*core
	ctx context.Context // of methods without a context
	dir string          // names are relative to it
}

// core is the state that clients made by WithContext and Sub share.
type core struct {
	config   Config
	control  *link           // for everything but bytes of files
	data     []*dataLink     // for these
	mu       sync.Mutex      // guards what is in data, and the next two
	asked    bool            // whether the server knows connections for bytes, or it has accepted one
	unfit    error           // if it does not
	contents atomic.Int64    // bytes held by open files
	pending  atomic.Int64    // bytes held by drafts
	delay    atomic.Int64    // nanoseconds of the fastest answer since the control connection was opened; 0 before
	life     context.Context // ends with Close
	cancel   context.CancelCauseFunc
	close    sync.Once

	background sync.WaitGroup // Close waits for it
}

// nearServer is the longest time in which a near server answers. Processing takes longer than waiting there.
const nearServer = 5 * time.Millisecond

// ErrClosed is the error of calls after Close, and of calls that Close has ended.
var ErrClosed = errors.New("fileservice: the client is closed")

// New returns a client. It opens no connection until the first call.
func New(config Config) (*Client, error) {
	switch {
	case config.Dial == nil:
		return nil, errors.New("fileservice: Config.Dial is required")
	case config.Connections < 0 || config.Connections > 1024:
		return nil, fmt.Errorf("fileservice: Config.Connections of %d is out of range", config.Connections)
	case config.Timeout < 0:
		return nil, fmt.Errorf("fileservice: Config.Timeout of %v is out of range", config.Timeout)
	case config.MaxEntries < 0:
		return nil, fmt.Errorf("fileservice: Config.MaxEntries of %d is out of range", config.MaxEntries)
	}
	config.Connections = cmp.Or(config.Connections, DefaultConnections)
	config.Timeout = cmp.Or(config.Timeout, DefaultTimeout)
	config.MaxEntries = cmp.Or(config.MaxEntries, DefaultMaxEntries)
	c := &Client{core: &core{config: config}, dir: "."}
	c.life, c.cancel = context.WithCancelCause(context.Background())
	c.ctx = c.life
	var err error
	if c.control, err = newLink(c.core); err != nil {
		return nil, err
	}
	for range config.Connections {
		c.data = append(c.data, &dataLink{})
	}
	return c, nil
}

// WithContext returns a client that shares the connections of c. Its methods without a context, and the files that it
// opens, end with ctx.
func (c *Client) WithContext(ctx context.Context) *Client {
	return &Client{core: c.core, ctx: ctx, dir: c.dir}
}

// Sub returns a client that shares the connections of c. Its names are relative to dir, which need not exist. Close on
// any of these clients closes the connections of all.
func (c *Client) Sub(dir string) (*Client, error) {
	if _, err := fileservice.CheckPath(dir); err != nil {
		return nil, &fs.PathError{Op: "sub", Path: dir, Err: err}
	}
	return &Client{core: c.core, ctx: c.ctx, dir: c.at(dir)}, nil
}

// at returns the path of name on the server.
func (c *Client) at(name string) string {
	if c.dir == "." {
		return name
	}
	return path.Join(c.dir, name)
}

// checkName returns the path of a name on the server.
func (c *Client) checkName(op, name string) (string, error) {
	_, err := fileservice.CheckPath(name)
	if err == nil {
		err = context.Cause(c.life)
	}
	return c.at(name), fault(op, name, err)
}

// yieldError is an error of the caller's function, which calls return unchanged.
type yieldError struct{ error }

// fault returns an error of an operation in the form for callers.
func fault(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if failed, is := errors.AsType[yieldError](err); is {
		return failed.error
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// heard records how long an answer took on an open connection. Of two at the same time, either may count.
func (c *core) heard(delay time.Duration) {
	if least := c.delay.Load(); least == 0 || int64(delay) < least {
		c.delay.Store(max(1, int64(delay)))
	}
}

// isNear reports whether the server has answered within nearServer.
func (c *core) isNear() bool {
	delay := c.delay.Load()
	return delay > 0 && delay <= int64(nearServer)
}

// Moved returns the number of bytes that the current connections have received and sent. A change shows that the server
// is reachable. The value may decrease, because connections that broke do not count.
func (c *core) Moved() (bytes int64) {
	bytes = c.control.moved()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.data {
		if l.counted != nil {
			bytes += moved(l.counted)
		}
	}
	return bytes
}

// busyLinks returns the number of connections that have calls.
func (c *core) busyLinks() (n time.Duration) {
	if c.control.busy.Load() > 0 {
		n++
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.data {
		if l.conn != nil && l.conn.Asked() > 0 {
			n++
		}
	}
	return n
}

// largeCalls is the least value of MostLarge for a server that is not near.
const largeCalls = 8

// MostLarge returns the number of concurrent ReadBlocks and WriteBlocks calls that fully use the connections. More only
// take memory.
func (c *Client) MostLarge() int {
	if c.isNear() {
		return 2 * len(c.usefulData())
	}
	return max(largeCalls, c.config.Connections)
}

// usefulData returns the connections that are worth opening. Processors limit what a near server can send, and not the
// line.
func (c *core) usefulData() []*dataLink {
	if c.isNear() {
		return c.data[:min(len(c.data), max(2, runtime.GOMAXPROCS(0)))]
	}
	return c.data
}

// Connect starts opening the connections, and returns at once. It saves later calls the wait. A near server gets one
// for each processor, at least two.
func (c *Client) Connect() {
	c.control.grpc.Connect()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.usefulData() {
		if l.conn == nil && l.dialing == nil && c.life.Err() == nil {
			c.connect(l)
		}
	}
}

// Capabilities returns what the server supports. It also succeeds for a server that this module cannot use; see
// [fileservice.Capabilities.Check].
func (c *Client) Capabilities(ctx context.Context) (capabilities fileservice.Capabilities, err error) {
	err = c.do(ctx, "capabilities", ".", func(call *call) error {
		response, err := call.link.service.GetCapabilities(call.ctx, &fileservicepb.GetCapabilitiesRequest{})
		if err == nil {
			capabilities = wire.CapabilitiesOf(response)
		}
		return err
	})
	return capabilities, err
}

// Close ends all calls, closes the connections, and waits until no Dial is in progress. Later calls fail with
// [ErrClosed]. A second Close does nothing.
func (c *Client) Close() error {
	var err error
	c.close.Do(func() {
		c.mu.Lock()
		c.cancel(ErrClosed)
		for _, l := range c.data {
			if conn := l.conn; conn != nil {
				c.background.Go(func() { conn.Fail(ErrClosed) })
			}
		}
		c.mu.Unlock()
		err = c.control.close()
		c.background.Wait()
	})
	return err
}
