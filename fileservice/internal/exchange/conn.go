package exchange

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"sync"
	"time"

	"culvert/fileservice/internal/traffic"
)

// A Call is a request of a client, and its answer. It is used once.
type Call struct {
	Request
	Data []byte // of a put; must not change before Done
	Into []byte // receives the data of a get; at least Length

	// Done is called when the call has ended, by the goroutine that reads the connection. It must not block. The
	// error is what the server reported, or that of the connection.
	Done func(error)

	// The answer.
	N    int    // bytes in Into
	Head []byte // of the END

	id uint32

	// Guarded by the lock of the connection.
	left    bool // by its caller, which owns Into again
	filling bool // the reader uses Into
	sent    bool // all of it
}

// A Conn is the client's end of a connection. Its methods may be called concurrently.
type Conn struct {
	conn   net.Conn
	reader *bufio.Reader
	ended  func()
	once   sync.Once     // calls ended
	done   chan struct{} // closed when all calls have ended

	mu      sync.Mutex
	changed sync.Cond // signals changes of filling, sent, sending and err
	calls   map[uint32]*Call
	asked   int // bytes that the calls in progress move
	puts    int // in progress
	lastID  uint32
	heads   []byte // messages to send: heads, each up to a mark, followed by its data
	marks   []mark // the data between heads
	spare   []byte // memory for heads
	sending bool   // a goroutine writes
	deaf    deafness
	err     error // sticky
}

// mark says that the data of a call follows the first at bytes of heads.
type mark struct {
	at   int
	call *Call
}

// readBuffer holds the headers of answers. The data of large ones bypasses it.
const readBuffer = 4 << 10

// ErrEnded is the error of calls whose connection failed or was ended by the server. A get may be repeated.
var ErrEnded = errors.New("fileservice: the connection has ended")

// ErrBye is an ErrEnded: the server has ended the connection in order, and did not execute the request. Any request may
// be repeated.
var ErrBye = fmt.Errorf("%w: the server has closed it", ErrEnded)

// NewConn announces the connection to the server, and waits until the server has accepted it. The error is io.EOF if
// the server closed it instead. Patience is how long the client waits for a silent server.
//
// The Conn owns conn. When it ends, ended is called, once, before any call fails: a caller whose call has failed can no
// longer get this Conn from its owner.
func NewConn(ctx context.Context, conn net.Conn, patience time.Duration, ended func()) (*Conn, error) {
	c := &Conn{
		conn: conn, reader: bufio.NewReaderSize(conn, readBuffer), ended: ended,
		done: make(chan struct{}), calls: map[uint32]*Call{},
	}
	c.changed.L = &c.mu
	stop := context.AfterFunc(ctx, func() { traffic.Cut(conn) })
	err := c.announce(patience)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		traffic.Cut(conn)
		return nil, err
	}
	go c.read()
	return c, nil
}

// announce sends the preface and HELLO, and receives ALIVE.
func (c *Conn) announce(patience time.Duration) error {
	h := header{kind: hello, length: int(min(max(patience.Milliseconds(), 1), math.MaxInt32))}
	if _, err := c.conn.Write(h.append([]byte(Preface))); err != nil {
		return err
	}
	var b [headerSize]byte
	if _, err := io.ReadFull(c.reader, b[:]); err != nil {
		return err
	}
	h.parse(b[:])
	if err := h.checkAnswer(); err != nil {
		return err
	}
	switch h.kind {
	case alive:
		return nil
	case bye:
		return io.EOF
	}
	return fmt.Errorf("%w: an answer to nothing", ErrMessage)
}

// Start sends calls together. While puts are in progress, another goroutine writes to the connection; otherwise the
// caller does, unless a write is in progress, after which they go out with all others that wait. If the connection has
// ended, Start returns ErrEnded, and Done is not called.
func (c *Conn) Start(calls ...*Call) error {
	for _, call := range calls {
		if len(call.Target) > maxTarget || call.Length > MaxLength || len(call.Data) > MaxLength {
			return fmt.Errorf("%w: a request that is too long", fs.ErrInvalid)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return fmt.Errorf("%w: %w", ErrEnded, c.err)
	}
	for _, call := range calls {
		c.add(call)
	}
	c.send()
	return nil
}

// add queues a call. mu is held.
func (c *Conn) add(call *Call) {
	for {
		c.lastID++
		if _, used := c.calls[c.lastID]; !used && c.lastID != 0 {
			break
		}
	}
	call.id = c.lastID
	c.calls[call.id] = call
	c.asked += call.Cost()
	c.heads = call.Request.append(c.heads, call.id, len(call.Data))
	if len(call.Data) > 0 {
		c.marks = append(c.marks, mark{len(c.heads), call})
		c.puts++
	} else {
		call.sent = true
	}
}

// requestCost is what a call costs besides its bytes, in bytes.
const requestCost = 16 << 10

// Cost returns an estimate of what the call costs, in bytes.
func (c *Call) Cost() int { return requestCost + c.Length + len(c.Data) }

// Asked returns an estimate of what the calls in progress cost, in bytes.
func (c *Conn) Asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// send writes what is queued, unless another goroutine does so. While the server takes the data of puts, writing may
// take long, and the caller may have to react to something else: a goroutine of its own writes then. mu is held on
// entry and return.
func (c *Conn) send() {
	if c.sending {
		return
	}
	c.sending = true
	for len(c.heads) > 0 && c.puts == 0 && c.err == nil {
		c.sendQueued()
	}
	if len(c.heads) > 0 && c.err == nil {
		go c.sendAll()
		return
	}
	c.sending = false
	c.changed.Broadcast()
}

// sendAll writes until nothing is queued. The goroutine that set sending starts it.
func (c *Conn) sendAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.heads) > 0 && c.err == nil {
		c.sendQueued()
	}
	c.sending = false
	c.changed.Broadcast()
}

// sendQueued writes what is queued at the time. mu is held on entry and return.
func (c *Conn) sendQueued() {
	heads, marks := c.heads, c.marks
	c.heads, c.marks, c.spare = c.spare[:0], nil, nil
	c.mu.Unlock()
	if err := c.write(heads, marks); err != nil {
		c.end(fmt.Errorf("%w: %w", ErrEnded, err))
	}
	c.mu.Lock()
	if cap(heads) <= maxHead {
		c.spare = heads
	}
}

// write writes heads and data in their order. A write of data alone lets package secureconn seal and open whole records
// without copying.
func (c *Conn) write(heads []byte, marks []mark) error {
	at := 0
	for _, m := range marks {
		if _, err := c.conn.Write(heads[at:m.at]); err != nil {
			return err
		}
		if _, err := c.conn.Write(m.call.Data); err != nil {
			return err
		}
		at = m.at
		c.mu.Lock()
		m.call.sent = true
		c.changed.Broadcast()
		c.mu.Unlock()
	}
	if at == len(heads) {
		return nil
	}
	_, err := c.conn.Write(heads[at:])
	return err
}

// Leave abandons a get: its space belongs to the caller again, and Done is not called. It returns false if Done was
// called or is about to be.
func (c *Conn) Leave(call *Call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[call.id] != call {
		return false
	}
	call.left = true
	h := header{id: call.id, kind: cancel}
	c.heads = h.append(c.heads)
	for call.filling {
		_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // the reader continues without the space
		c.changed.Wait()
	}
	if !c.sending && c.err == nil {
		c.sending = true
		go c.sendAll() // the caller does not wait for the connection
	}
	return true
}

// Fail ends the connection at once. The calls in progress fail with err.
func (c *Conn) Fail(err error) {
	c.end(err)
	traffic.Cut(c.conn)
}

// lastAnswers is how long the reader continues after a write has failed. The server may have said why.
const lastAnswers = 500 * time.Millisecond

// end records the first error, or a BYE, with which the reader ends all calls.
func (c *Conn) end(err error) {
	c.once.Do(c.ended)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil || err == ErrBye && errors.Is(c.err, ErrEnded) {
		c.err = err
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(lastAnswers)) // if it fails, reading does too
	c.changed.Broadcast()
}

// Wait waits until the connection has ended, and with it all calls.
func (c *Conn) Wait() { <-c.done }
