package exchange

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"culvert/fileservice"
)

func FuzzRequestCoding(f *testing.F) {
	sum := []byte("0123456789abcdef")
	f.Add(uint32(1), byte(Get), "file", int64(5), int64(-7), uint64(1<<63), true, false, uint32(100), sum)
	f.Add(uint32(1<<32-1), byte(PutDraft), "", int64(-1), int64(1<<62), uint64(0), false, true, uint32(0), []byte{})
	f.Fuzz(func(
		t *testing.T, id uint32, kind byte, target string, offset, size int64, tag uint64, anyVersion, summed bool,
		length uint32, sum []byte,
	) {
		r := Request{
			Kind: Kind(kind), Target: target[:min(len(target), maxTarget)], Any: anyVersion, Summed: summed,
			Version: fileservice.Version{Size: size, ModifiedUnixNano: ^size, Tag: tag},
			Offset:  offset, Length: int(length % (MaxLength + 1)),
		}
		copy(r.Sum[:], sum)
		b := r.append([]byte("before"), id, 77)[len("before"):]
		var h header
		h.parse(b)
		if h.id != id || h.data != 77 || h.head != len(b)-headerSize {
			t.Fatalf("%+v", h)
		}
		var got Request
		got.parse(&h, b[headerSize:])
		if got != r {
			t.Errorf("%+v became %+v", r, got)
		}
		if again := h.append(nil); !bytes.Equal(again, b[:headerSize]) {
			t.Errorf("%x became %x", b[:headerSize], again)
		}
	})
}

// FuzzRequests sends bytes to a session. It ends with the connection, and returns and closes what it has taken.
func FuzzRequests(f *testing.F) {
	get := Request{Kind: Get, Target: "file", Length: 100}
	f.Add(get.append(nil, 1, 0))
	large := Request{Kind: GetDraft, Target: "file", Length: MaxLength, Summed: true}
	f.Add(append(large.append(nil, 2, 0), message(header{id: 2, kind: cancel})...))
	put := Request{Kind: PutFiles, Target: "dir"}
	f.Add(append(put.append(nil, 3, 5), "hello"...))
	f.Add(append(message(header{kind: hello, length: 1}), get.append(nil, 1, 0)...))
	f.Add(get.append(nil, 1, 0)[:30])
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		h := &handler{content: pattern(MaxPart + 100), put: func(_ *Request, data []byte) ([]byte, error) {
			if len(data) > 3 {
				return nil, errors.New("too much")
			}
			return data, nil
		}}
		s := NewSession(&endingConn{far, bytes.NewReader(b)}, h, 2, time.Minute)
		served := make(chan error, 1)
		go func() {
			err := s.Serve()
			served <- errors.Join(err, far.Close())
		}()
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, near) // until the end
		}()
		t.Log(<-served) // some bytes are good, and some are not
		<-drained
		_ = near.Close() // the other end is closed
		h.check(t)
	})
}

// endingConn is a connection on which some bytes come and then the end.
type endingConn struct {
	net.Conn
	input io.Reader
}

func (c *endingConn) Read(p []byte) (int, error) { return c.input.Read(p) }

// FuzzAnswers sends bytes to a client with calls in progress. All of them end.
func FuzzAnswers(f *testing.F) {
	f.Add(append(message(header{id: 1, kind: end, data: 100}), make([]byte, 100)...))
	f.Add(append(message(header{id: 2, kind: more, data: MaxPart}), make([]byte, MaxPart)...))
	f.Add(append(message(header{id: 3, kind: end, head: 4}), "head"...))
	f.Add(append(message(header{id: 3, kind: failed, head: 4}), "head"...))
	f.Add(append(message(header{kind: alive}), message(header{id: 4, kind: end, data: 10})...))
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }() // until the end
		written := make(chan struct{})
		started := make(chan struct{})
		go func() {
			defer close(written)
			if _, err := far.Write(message(header{kind: alive})); err != nil {
				t.Error(err)
			}
			<-started
			_, _ = far.Write(b) // the client may have closed it
			_ = far.Close()
		}()
		c, err := NewConn(context.Background(), near, time.Minute, func() {})
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 4)
		done := func(err error) { errs <- err }
		small := &Call{Request: Request{Kind: Get, Length: 100}, Into: make([]byte, 100), Done: done}
		large := &Call{Request: Request{Kind: Get, Length: MaxLength}, Into: make([]byte, MaxLength), Done: done}
		put := &Call{Request: Request{Kind: PutBlock}, Data: []byte("hello"), Done: done}
		left := &Call{Request: Request{Kind: Get, Length: 300_000}, Into: make([]byte, 300_000), Done: done}
		if err := c.Start(small, large, put, left); err != nil {
			t.Fatal(err)
		}
		ends := 4
		if c.Leave(left) {
			ends--
		}
		close(started)
		for range ends {
			t.Log(<-errs) // some answers are good
		}
		<-written
		c.Fail(net.ErrClosed)
	})
}
