package exchange

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/internal/testkit"
	"culvert/secureconn"
)

// sizes are the borders of the ways in which an answer is sent.
var sizes = []int{
	0, 1, 4096, MaxInline - 1, MaxInline, MaxInline + 1, MaxPart - 1, MaxPart, MaxPart + 1, 2*MaxPart + 1,
	MaxLength - 1, MaxLength,
}

// transports returns the ends of connections of all kinds.
func transports() map[string]func(testing.TB) (near, far net.Conn) {
	return map[string]func(testing.TB) (near, far net.Conn){
		"TCP":  pipe,
		"pipe": func(testing.TB) (near, far net.Conn) { return net.Pipe() },
		"secureconn": func(t testing.TB) (near, far net.Conn) {
			t.Helper()
			var keys [2]ed25519.PrivateKey
			var prints [2]string
			for i := range keys {
				public, private, err := ed25519.GenerateKey(nil)
				if err != nil {
					t.Fatal(err)
				}
				keys[i], prints[i] = private, secureconn.Fingerprint(public)
			}
			a, b := pipe(t)
			client := secureconn.Client(a, &secureconn.Config{Key: keys[0], Peers: prints[1:]})
			server := secureconn.Server(b, &secureconn.Config{Key: keys[1], Peers: prints[:1]})
			shaken := make(chan error, 1)
			go func() { shaken <- server.HandshakeContext(t.Context()) }()
			if err := errors.Join(client.HandshakeContext(t.Context()), <-shaken); err != nil {
				t.Fatal(err)
			}
			return client, server
		},
	}
}

func TestSizes(t *testing.T) {
	content := pattern(MaxLength + 100)
	for name, ends := range transports() {
		t.Run(name, func(t *testing.T) {
			near, far := ends(t)
			c := connectOn(t, near, far, &handler{content: content}, time.Minute)
			for _, size := range sizes {
				for _, offset := range []int{0, 99, len(content) - size, len(content) - size/2, len(content) + 7} {
					see(t, c, content, offset, size)
				}
			}
			for _, size := range []int{1, MaxLength} {
				_, err := ask(c, Request{Kind: Get, Target: "missing", Length: size}, nil)
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a missing file: %v", err)
				}
			}
			call, err := ask(c, Request{Kind: Get, Target: "file", Any: true, Length: 10}, nil)
			if err != nil || string(call.Head) != "entry" {
				t.Errorf("the head is %q, %v", call.Head, err)
			}
		})
	}
}

func TestSums(t *testing.T) {
	content := pattern(MaxLength)
	c := connect(t, &handler{content: content})
	for _, size := range sizes {
		call, err := ask(c, Request{Kind: Get, Target: "file", Summed: true, Length: size}, nil)
		if want := fileservice.SumBlock(content[:size], 0); err != nil || string(call.Head) != string(want[:]) {
			t.Errorf("%d bytes have the sum %x, want %x, %v", size, call.Head, want, err)
		}
	}
	for _, offset := range []int{1, MaxPart + 1, MaxLength - 1} { // after what is before it in the block
		r := Request{Kind: Get, Target: "file", Summed: true, Offset: int64(offset), Length: MaxLength}
		call, err := ask(c, r, nil)
		if want := fileservice.SumBlock(content, 0); err != nil || call.N != MaxLength-offset ||
			string(call.Head) != string(want[:]) {
			t.Errorf("from %d: %d bytes have the sum %x, want %x, %v", offset, call.N, call.Head, want, err)
		}
	}
	empty := connect(t, &handler{})
	for _, size := range sizes {
		call, err := ask(empty, Request{Kind: Get, Target: "file", Summed: true, Length: size}, nil)
		if want := fileservice.SumBlock(nil, 0); err != nil || call.N > 0 || string(call.Head) != string(want[:]) {
			t.Errorf("%d bytes of an empty file have the sum %x, want %x, %v", size, call.Head, want, err)
		}
	}
}

// TestTooLong starts calls that no server accepts. The connection stays.
func TestTooLong(t *testing.T) {
	content := pattern(100)
	c := connect(t, &handler{content: content})
	for _, call := range []*Call{
		{Request: Request{Kind: Get, Length: MaxLength + 1}},
		{Request: Request{Kind: Get, Target: string(make([]byte, maxTarget+1))}},
		{Request: Request{Kind: PutDraft}, Data: make([]byte, MaxLength+1)},
	} {
		if err := c.Start(call); !errors.Is(err, fs.ErrInvalid) {
			t.Error(err)
		}
	}
	see(t, c, content, 0, 100)
}

// TestMixed makes gets and puts of all sizes from many goroutines. The puts of each are executed in their order.
func TestMixed(t *testing.T) {
	const goroutines, rounds = 16, 30
	content := pattern(MaxLength + 100)
	for name, ends := range transports() {
		t.Run(name, func(t *testing.T) {
			next := map[string]uint64{}
			h := &handler{content: content, put: func(r *Request, data []byte) ([]byte, error) {
				number := binary.BigEndian.Uint64(data)
				if next[r.Target] != number || !bytes.Equal(data[8:], content[number:int(number)+len(data)-8]) {
					return nil, fs.ErrInvalid
				}
				next[r.Target]++
				return data[:8], nil
			}}
			near, far := ends(t)
			c := connectOn(t, near, far, h, time.Minute)
			var all sync.WaitGroup
			for i := range goroutines {
				all.Go(func() {
					random := rand.New(rand.NewPCG(1, uint64(i)))
					var ends []chan error
					for n := range uint64(rounds) {
						size := sizes[random.IntN(len(sizes)-3)]
						see(t, c, content, random.IntN(100), size)
						end := putNumber(t, c, string(rune('a'+i)), n, content, size)
						ends = append(ends, end)
					}
					for _, end := range ends {
						if err := <-end; err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			if n := c.Asked(); n != 0 {
				t.Errorf("%d bytes are asked for after all calls", n)
			}
		})
	}
}

// putNumber starts a put of a number and bytes that depend on it.
func putNumber(t *testing.T, c *Conn, target string, n uint64, content []byte, size int) chan error {
	data := binary.BigEndian.AppendUint64(nil, n)
	data = append(data, content[n:int(n)+size]...)
	end := make(chan error, 1)
	err := c.Start(&Call{Request: Request{Kind: PutDraft, Target: target}, Data: data, Done: func(err error) {
		clear(data) // which the connection no longer uses
		end <- err
	}})
	if err != nil {
		t.Error(err)
		end <- err
	}
	return end
}

// TestTogether starts several calls at once, of which one fails.
func TestTogether(t *testing.T) {
	content := pattern(1000)
	c := connect(t, &handler{content: content})
	errs := make(chan error, 20)
	var calls []*Call
	for i := range 20 {
		r := Request{Kind: Get, Target: "file", Offset: int64(i), Length: 100}
		if i == 7 {
			r.Target = "missing"
		}
		calls = append(calls, &Call{Request: r, Into: make([]byte, 100), Done: func(err error) { errs <- err }})
	}
	if err := c.Start(calls...); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for range calls {
		if err := <-errs; err != nil {
			failed++
		}
	}
	for i, call := range calls {
		if i != 7 && !bytes.Equal(call.Into, content[i:i+100]) {
			t.Errorf("call %d has other bytes", i)
		}
	}
	if failed != 1 {
		t.Errorf("%d calls failed", failed)
	}
}

// TestAllocations reads a small range again and again.
func TestAllocations(t *testing.T) {
	content := pattern(10_000)
	h := &handler{content: content}
	c := connect(t, h)
	done := make(chan error, 1)
	call := &Call{Into: make([]byte, 4096)}
	end := func(err error) { done <- err }
	// The server makes a target, and this handler its memory and a file.
	testkit.Allocs(t, 5, func() {
		*call = Call{Request: Request{Kind: Get, Target: "file", Length: 4096}, Into: call.Into, Done: end}
		if err := c.Start(call); err != nil {
			t.Error(err)
			return
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestAlive has a server whose disk is slow, and a client that waits no longer than a short time for a silent server.
// The client is not disturbed, and could see that the server is there.
func TestAlive(t *testing.T) {
	near, far := pipe(t)
	release, begun := make(chan struct{}), make(chan struct{}, 1)
	h := &handler{put: func(*Request, []byte) ([]byte, error) {
		begun <- struct{}{}
		<-release
		return []byte("done"), nil
	}}
	counted := &countingConn{Conn: near, more: make(chan struct{}, 1000)}
	c := connectOn(t, counted, far, h, 30*time.Millisecond)
	ended := make(chan error, 1)
	call := &Call{Request: Request{Kind: PutBlock}, Data: []byte("x"), Done: func(err error) { ended <- err }}
	if err := c.Start(call); err != nil {
		t.Fatal(err)
	}
	<-begun
	for range 5 {
		<-counted.more // the test hangs if nothing comes
	}
	close(release)
	if err := <-ended; err != nil || string(call.Head) != "done" {
		t.Errorf("%q, %v", call.Head, err)
	}
}

// countingConn tells each read that has received something.
type countingConn struct {
	net.Conn
	more chan struct{}
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		select {
		case c.more <- struct{}{}:
		default:
		}
	}
	return n, err
}

// TestAliveWithoutMemory has a server whose memory is lent to others, so that it reads no further.
func TestAliveWithoutMemory(t *testing.T) {
	near, far := pipe(t)
	content := pattern(100)
	h := &handler{content: content, answers: make(chan struct{}, 1)}
	h.answers <- struct{}{}
	counted := &countingConn{Conn: near, more: make(chan struct{}, 1000)}
	c := connectOn(t, counted, far, h, 30*time.Millisecond)
	ended := make(chan error, 1)
	r := Request{Kind: Get, Target: "file", Length: 100}
	call := &Call{Request: r, Into: make([]byte, 100), Done: func(err error) { ended <- err }}
	if err := c.Start(call); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		<-counted.more // the test hangs if nothing comes
	}
	<-h.answers
	if err := <-ended; err != nil || !bytes.Equal(call.Into, content) {
		t.Error(err)
	}
}

// TestSlowDisk has a file that must be read from the disk. A request that comes later and is in memory is answered
// first, if it comes in the same write or in another one. Each read has memory of the handler.
func TestSlowDisk(t *testing.T) {
	const slowReads = 10
	content := pattern(10_000)
	release := make(chan struct{})
	h := &handler{content: content, answers: make(chan struct{}, slowReads+1), read: func(offset int64) error {
		if offset == 0 {
			<-release
		}
		return nil
	}}
	c := connect(t, h)
	slow := make(chan error, slowReads)
	for range slowReads - 1 {
		r := Request{Kind: Get, Target: "file", Length: 100}
		call := &Call{Request: r, Into: make([]byte, 100), Done: func(err error) { slow <- err }}
		if err := c.Start(call); err != nil {
			t.Fatal(err)
		}
		see(t, c, content, 1, 100)
	}
	if n := len(h.answers); n < slowReads-1 {
		t.Errorf("%d reads from the disk have %d pieces of memory", slowReads-1, n)
	}
	if n := len(slow); n > 0 {
		t.Errorf("%d reads from the disk have ended", n)
	}
	close(release)
	for range slowReads - 1 {
		if err := <-slow; err != nil {
			t.Error(err)
		}
	}
}

// TestQueuedPuts sends many puts at once, of which only a few have memory at any time.
func TestQueuedPuts(t *testing.T) {
	h := &handler{}
	h.put = func(*Request, []byte) ([]byte, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.lent > queuedPuts {
			return nil, fmt.Errorf("%d puts have memory", h.lent)
		}
		return nil, nil
	}
	c := connect(t, h)
	var calls []*Call
	ended := make(chan error, 100)
	for range cap(ended) {
		calls = append(calls, &Call{
			Request: Request{Kind: PutDraft}, Data: []byte("x"), Done: func(err error) { ended <- err },
		})
	}
	if err := c.Start(calls...); err != nil {
		t.Fatal(err)
	}
	for range calls {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestConcurrentPuts has puts that need no order wait for each other, and for one to a draft, which a second one waits
// for in turn.
func TestConcurrentPuts(t *testing.T) {
	var begun sync.WaitGroup
	begun.Add(queuedPuts - 1)
	var drafts atomic.Int64
	h := &handler{put: func(r *Request, _ []byte) ([]byte, error) {
		if r.Kind != PutDraft || drafts.Add(1) == 1 {
			begun.Done()
			begun.Wait() // the test hangs if they do not run at the same time
		} else if r.Target != "second" {
			t.Error("the first put to a draft comes second")
		}
		return nil, nil
	}}
	c := connect(t, h)
	ended := make(chan error, queuedPuts)
	for _, r := range []Request{
		{Kind: PutDraft, Target: "first"}, {Kind: PutDraft, Target: "second"}, {Kind: PutFiles}, {Kind: PutBlock},
	} {
		call := &Call{Request: r, Data: []byte("x"), Done: func(err error) { ended <- err }}
		if err := c.Start(call); err != nil {
			t.Fatal(err)
		}
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestShutdown ends a session while a put is being executed. The put is answered; later calls fail.
func TestShutdown(t *testing.T) {
	near, far := pipe(t)
	release, begun := make(chan struct{}), make(chan struct{})
	h := &handler{put: func(*Request, []byte) ([]byte, error) {
		close(begun)
		<-release
		return nil, nil
	}}
	s := serve(t, far, h)
	over := make(chan struct{})
	c, err := NewConn(context.Background(), near, time.Minute, func() { close(over) })
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	call := &Call{Request: Request{Kind: PutBlock}, Data: []byte("x"), Done: func(err error) { ended <- err }}
	if err := c.Start(call); err != nil {
		t.Fatal(err)
	}
	<-begun
	s.Shutdown()
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-over // the test hangs if the server does not close the connection
	if err := c.Start(&Call{}); !errors.Is(err, ErrEnded) {
		// The connection has an error when its owner has heard of the end.
		if _, err := ask(c, Request{Kind: Get}, nil); !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
	}
}

// TestRefused has a server that closes a connection instead of accepting it, and one that says nothing.
func TestRefused(t *testing.T) {
	near, far := pipe(t)
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewConn(t.Context(), near, time.Minute, func() { t.Error("ended") }); err == nil {
		t.Error("no error")
	}
	near, far = pipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := NewConn(ctx, near, time.Minute, func() { t.Error("ended") }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFail ends a client whose calls wait. They end with the error of Fail.
func TestFail(t *testing.T) {
	for name, ends := range transports() {
		t.Run(name, func(t *testing.T) {
			near, far := ends(t)
			release, begun := make(chan struct{}), make(chan struct{})
			defer close(release)
			h := &handler{put: func(*Request, []byte) ([]byte, error) {
				close(begun)
				<-release
				return nil, nil
			}}
			c := connectOn(t, near, far, h, time.Minute)
			ended := make(chan error, 1)
			call := &Call{Request: Request{Kind: PutBlock}, Data: []byte("x"), Done: func(err error) { ended <- err }}
			if err := c.Start(call); err != nil {
				t.Fatal(err)
			}
			<-begun
			cause := errors.New("closed")
			c.Fail(cause)
			if err := <-ended; !errors.Is(err, cause) {
				t.Error(err)
			}
			if err := c.Start(&Call{}); !errors.Is(err, ErrEnded) || !errors.Is(err, cause) {
				t.Error(err)
			}
		})
	}
}
