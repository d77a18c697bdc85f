package exchange

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// peer is a server whose messages a test writes.
type peer struct {
	t    *testing.T
	conn net.Conn
	c    *Conn
}

// newPeer returns a server that has accepted a connection.
func newPeer(t *testing.T) *peer {
	t.Helper()
	near, far := pipe(t)
	c := accept(t, near, far)
	t.Cleanup(func() {
		c.Fail(net.ErrClosed)
		_ = far.Close()
	})
	return &peer{t, far, c}
}

// accept announces a connection to its far end, and accepts it there.
func accept(t *testing.T, near, far net.Conn) *Conn {
	t.Helper()
	accepted := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(far, make([]byte, len(Preface)+headerSize))
		if err == nil {
			h := header{kind: alive}
			_, err = far.Write(h.append(nil))
		}
		accepted <- err
	}()
	c, err := NewConn(t.Context(), near, time.Minute, func() {})
	if err = errors.Join(err, <-accepted); err != nil {
		t.Fatal(err)
	}
	return c
}

// request receives a request without data.
func (p *peer) request() header {
	p.t.Helper()
	var b [headerSize]byte
	var h header
	_, err := io.ReadFull(p.conn, b[:])
	if err == nil {
		h.parse(b[:])
		_, err = io.ReadFull(p.conn, make([]byte, h.head))
	}
	if err != nil {
		p.t.Error(err)
	}
	return h
}

func (p *peer) send(h header, rest []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(append(h.append(nil), rest...)); err != nil {
		p.t.Error(err)
	}
}

// TestLeaveWhileFilling leaves a get whose space has been filled in part. From then on the connection does not touch
// the space, and it goes on with other calls.
func TestLeaveWhileFilling(t *testing.T) {
	for name, before := range map[string]int{"at the begin": 0, "in the middle": 1000, "before the end": MaxPart - 1} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			into := make([]byte, 2*MaxPart)
			r := Request{Kind: Get, Length: len(into)}
			call := &Call{Request: r, Into: into, Done: func(err error) { t.Error(err) }}
			if err := p.c.Start(call); err != nil {
				t.Fatal(err)
			}
			asked := p.request()
			p.send(header{id: asked.id, kind: more, data: MaxPart}, bytes.Repeat([]byte{1}, before))
			if before > 0 {
				waitFor(t, p.c, func() bool { return call.filling })
			}
			if !p.c.Leave(call) {
				t.Fatal("the call has ended")
			}
			for i := range into {
				into[i] = 7 // the race detector looks, too
			}
			if h := p.request(); h.kind != cancel || h.id != asked.id {
				t.Errorf("it sends %+v", h)
			}
			if _, err := p.conn.Write(bytes.Repeat([]byte{2}, MaxPart-before)); err != nil {
				t.Fatal(err)
			}
			p.send(header{id: asked.id, kind: end, data: 10}, bytes.Repeat([]byte{3}, 10))
			seeAnswer(t, p)
			for i, b := range into {
				if b != 7 {
					t.Fatalf("byte %d was touched", i)
				}
			}
			if n := p.c.Asked(); n != 0 {
				t.Errorf("%d bytes are asked for", n)
			}
		})
	}
}

// waitFor waits until a condition holds, which the lock of the connection guards.
func waitFor(t *testing.T, c *Conn, is func() bool) {
	t.Helper()
	for {
		c.mu.Lock()
		done := is()
		c.mu.Unlock()
		if done {
			return
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // nothing tells it
	}
}

// seeAnswer makes another call.
func seeAnswer(t *testing.T, p *peer) {
	t.Helper()
	answered := make(chan error, 1)
	go func() {
		call, err := ask(p.c, Request{Kind: Get, Length: 5}, nil)
		if err == nil && string(call.Into[:call.N]) != "hello" {
			t.Errorf("%q", call.Into)
		}
		answered <- err
	}()
	h := p.request()
	p.send(header{id: h.id, kind: end, data: 5}, []byte("hello"))
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestLeaveMany leaves gets at any time, while others end.
func TestLeaveMany(t *testing.T) {
	content := pattern(MaxLength)
	for name, ends := range transports() {
		t.Run(name, func(t *testing.T) {
			near, far := ends(t)
			c := connectOn(t, near, far, &handler{content: content}, time.Minute)
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					space := bytes.Clone(content)
					for n := range 30 {
						leaveOne(t, c, space[:sizes[1+(i+n)%(len(sizes)-1)]], n%3 == 0)
						see(t, c, content, n, 1000)
					}
				})
			}
			all.Wait()
		})
	}
}

// leaveOne starts a get and leaves it.
func leaveOne(t *testing.T, c *Conn, into []byte, late bool) {
	done := make(chan error, 1)
	r := Request{Kind: Get, Target: "file", Length: len(into)}
	call := &Call{Request: r, Into: into, Done: func(err error) { done <- err }}
	if err := c.Start(call); err != nil {
		t.Error(err)
		return
	}
	if late {
		see(t, c, pattern(1), 0, 0)
	}
	if c.Leave(call) {
		clear(into)
	} else if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestCancel leaves gets that wait behind a put. The server does not read their files.
func TestCancel(t *testing.T) {
	release, begun := make(chan struct{}), make(chan struct{}, 2)
	reads := 0
	h := &handler{
		content: pattern(MaxLength),
		put: func(*Request, []byte) ([]byte, error) {
			begun <- struct{}{}
			<-release
			return nil, nil
		},
		read: func(int64) error {
			reads++
			return nil
		},
	}
	c := connect(t, h)
	put := make(chan error, 1)
	call := &Call{Request: Request{Kind: PutDraft}, Data: []byte("x"), Done: func(err error) { put <- err }}
	if err := c.Start(call); err != nil {
		t.Fatal(err)
	}
	<-begun
	call = &Call{Request: Request{Kind: Get, Length: MaxLength}, Into: make([]byte, MaxLength), Done: func(error) {}}
	if err := c.Start(call); err != nil {
		t.Fatal(err)
	}
	if !c.Leave(call) {
		t.Error("the call has ended")
	}
	// The answer comes after the server has read CANCEL.
	if _, err := ask(c, Request{Kind: Get, Target: "missing", Length: 1}, nil); err == nil {
		t.Error("no error")
	}
	close(release)
	if err := <-put; err != nil {
		t.Error(err)
	}
	if _, err := ask(c, Request{Kind: PutDraft}, nil); err != nil { // executed after the get
		t.Error(err)
	}
	if reads > 0 {
		t.Errorf("the server has read %d times", reads)
	}
}

// TestBye ends a connection in order. Whoever made a call that the server has not read may repeat it, also if its data
// cannot be sent any more.
func TestBye(t *testing.T) {
	for name, sent := range map[string]int{"small": 10, "more than the system takes": MaxLength} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			ended := make(chan error, 16)
			start := func() {
				call := &Call{Request: Request{Kind: PutDraft}, Data: make([]byte, sent)}
				call.Done = func(err error) { ended <- err }
				if err := p.c.Start(call); err != nil {
					t.Error(err)
				}
			}
			for range cap(ended) {
				start()
			}
			p.send(header{kind: bye}, nil)
			for range cap(ended) {
				if err := <-ended; !errors.Is(err, ErrBye) || !errors.Is(err, ErrEnded) {
					t.Error(err)
				}
			}
		})
	}
}

// TestGetsBehindPuts starts a get while the server takes no more data. The caller does not wait.
func TestGetsBehindPuts(t *testing.T) {
	near, far := net.Pipe() // takes no byte before it is read
	c := accept(t, near, far)
	ended := make(chan error, 2)
	done := func(err error) { ended <- err }
	put := &Call{Request: Request{Kind: PutBlock}, Data: []byte("x"), Done: done}
	if err := c.Start(put); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(far, make([]byte, headerSize+requestHead+1)); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(&Call{Request: Request{Kind: Get}, Done: done}); err != nil { // the test hangs if it waits
		t.Fatal(err)
	}
	c.Fail(net.ErrClosed)
	for range cap(ended) {
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
	if err := far.Close(); err != nil {
		t.Error(err)
	}
}
