package exchange

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"culvert/fileservice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler is a Handler whose only file is content.
type handler struct {
	content []byte
	get     func(*Request) // called first; may be nil
	put     func(*Request, []byte) ([]byte, error)
	read    func(offset int64) error // called by each read of the file, which comes from a disk; nil if it is cached
	answers chan struct{}            // limits the memory of Answers; nil for no limit
	refuse  error                    // of Blocks

	received atomic.Int64

	mu           sync.Mutex
	began, ended int
	lent         int // pieces of memory
	open         int // files
}

func (h *handler) Get(r *Request) (Content, error) {
	if h.get != nil {
		h.get(r)
	}
	size := int64(len(h.content))
	switch {
	case r.Target == "missing":
		return Content{}, fs.ErrNotExist
	case r.Offset < 0:
		return Content{}, fs.ErrInvalid
	case r.Offset >= size:
		return Content{}, nil
	}
	content := Content{File: handlerFile{h}, Offset: r.Offset, Length: int(min(int64(r.Length), size-r.Offset))}
	if r.Any {
		content.Head = []byte("entry")
	}
	h.add(0, 0, 0, 1)
	return content, nil
}

func (h *handler) Put(r *Request, data []byte) ([]byte, error) {
	if h.put == nil {
		return nil, nil
	}
	return h.put(r, data)
}

func (h *handler) Answers() (Memory, error) {
	if h.answers != nil {
		h.answers <- struct{}{}
	}
	h.add(0, 0, 1, 0)
	return &memory{h, make([]byte, MaxPart)}, nil
}

func (h *handler) Blocks() (Memory, error) {
	if h.refuse != nil {
		return nil, h.refuse
	}
	h.add(0, 0, 1, 0)
	return &memory{h, make([]byte, MaxLength)}, nil
}

func (h *handler) Received() int64 { return h.received.Load() }

func (h *handler) Began() { h.add(1, 0, 0, 0) }

func (h *handler) Ended(*Request, time.Time, int, error) { h.add(0, 1, 0, 0) }

func (h *handler) add(began, ended, lent, open int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began += began
	h.ended += ended
	h.lent += lent
	h.open += open
}

// check fails the test if something was not ended, returned or closed. The session has ended.
func (h *handler) check(t testing.TB) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.began != h.ended || h.lent != 0 || h.open != 0 {
		t.Errorf("%d requests began, %d ended; %d pieces of memory and %d files are left",
			h.began, h.ended, h.lent, h.open)
	}
}

type memory struct {
	h     *handler
	bytes []byte
}

func (m *memory) Bytes() []byte { return m.bytes }

func (m *memory) Free() {
	if m.bytes == nil {
		panic("freed twice")
	}
	if m.h.answers != nil && len(m.bytes) == MaxPart {
		<-m.h.answers
	}
	m.bytes = nil
	m.h.add(0, 0, -1, 0)
}

type handlerFile struct{ h *handler }

func (f handlerFile) ReadAt(p []byte, offset int64) error {
	if f.h.read != nil {
		if err := f.h.read(offset); err != nil {
			return err
		}
	}
	copy(p, f.h.content[offset:])
	return nil
}

func (f handlerFile) ReadCached(p []byte, offset int64) (bool, error) {
	if f.h.read != nil {
		return false, nil
	}
	return true, f.ReadAt(p, offset)
}

func (f handlerFile) Close() error {
	f.h.add(0, 0, 0, -1)
	return nil
}

// pattern returns bytes that differ at all offsets that tests use.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// pipe returns both ends of a TCP connection.
func pipe(t testing.TB) (near, far net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	near, err = net.Dial("tcp", listener.Addr().String())
	if err == nil {
		far, err = listener.Accept()
	}
	if err = errors.Join(err, listener.Close()); err != nil {
		t.Fatal(err)
	}
	return near, far
}

// serve serves the far end until the end of the test, after which nothing may be left.
func serve(t testing.TB, far net.Conn, h *handler) *Session {
	t.Helper()
	s := NewSession(far, h, 4, time.Minute)
	served := make(chan struct{})
	go func() {
		defer close(served)
		preface := make([]byte, len(Preface))
		if _, err := io.ReadFull(far, preface); err == nil && string(preface) == Preface {
			_ = s.Serve() // tests that care call it
		}
		_ = far.Close()
	}()
	t.Cleanup(func() {
		<-served
		h.check(t)
	})
	return s
}

// connect returns a client of h.
func connect(t testing.TB, h *handler) *Conn {
	t.Helper()
	near, far := pipe(t)
	return connectOn(t, near, far, h, time.Minute)
}

func connectOn(t testing.TB, near, far net.Conn, h *handler, patience time.Duration) *Conn {
	t.Helper()
	serve(t, far, h)
	ended := make(chan struct{})
	c, err := NewConn(context.Background(), near, patience, func() { close(ended) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Fail(net.ErrClosed)
		<-ended
	})
	return c
}

// ask makes a call and waits for its end.
func ask(c *Conn, r Request, data []byte) (*Call, error) {
	done := make(chan error, 1)
	call := &Call{Request: r, Data: data, Into: make([]byte, r.Length), Done: func(err error) { done <- err }}
	if err := c.Start(call); err != nil {
		return call, err
	}
	return call, <-done
}

// see fails the test unless a get returns a range of the content.
func see(t testing.TB, c *Conn, content []byte, offset, length int) {
	t.Helper()
	want := content[min(offset, len(content)):min(offset+length, len(content))]
	r := Request{
		Kind: Get, Target: "file", Version: fileservice.Version{Size: int64(len(content))},
		Offset: int64(offset), Length: length,
	}
	call, err := ask(c, r, nil)
	if err != nil || !bytes.Equal(call.Into[:call.N], want) {
		t.Errorf("%d bytes at %d: %d bytes, %v", length, offset, call.N, err)
	}
}
