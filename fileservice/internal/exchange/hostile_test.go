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
	"culvert/internal/testkit"
)

// TestHostileAnswers has a server answer a get of 100 bytes and a put with other things than it may. The calls and the
// connection end.
func TestHostileAnswers(t *testing.T) {
	for name, answer := range map[string]func(get, put uint32) []byte{
		"unknown id":    func(get, _ uint32) []byte { return message(header{id: get + 100, kind: end}) },
		"kind 0":        func(get, _ uint32) []byte { return message(header{id: get}) },
		"kind 5":        func(get, _ uint32) []byte { return message(header{id: get, kind: 5}) },
		"flags":         func(get, _ uint32) []byte { return message(header{id: get, kind: end, flags: 1}) },
		"a length":      func(get, _ uint32) []byte { return message(header{id: get, kind: end, length: 1}) },
		"an empty part": func(get, _ uint32) []byte { return message(header{id: get, kind: more}) },
		"a head in a part": func(get, _ uint32) []byte {
			return message(header{id: get, kind: more, head: 1, data: 1})
		},
		"too much":         func(get, _ uint32) []byte { return message(header{id: get, kind: end, data: 101}) },
		"far too much":     func(get, _ uint32) []byte { return message(header{id: get, kind: end, data: 1<<31 - 1}) },
		"data of a put":    func(_, put uint32) []byte { return message(header{id: put, kind: end, data: 1}) },
		"a part of a put":  func(_, put uint32) []byte { return message(header{id: put, kind: more, data: 1}) },
		"failed with data": func(get, _ uint32) []byte { return message(header{id: get, kind: failed, data: 1}) },
		"ALIVE with data":  func(get, _ uint32) []byte { return message(header{kind: alive, data: 1}) },
		"ALIVE with flags": func(get, _ uint32) []byte { return message(header{kind: alive, flags: 2}) },
		"BYE with an id":   func(get, _ uint32) []byte { return message(header{id: get, kind: bye}) },
		"too much in parts": func(get, _ uint32) []byte {
			part := append(message(header{id: get, kind: more, data: 60}), make([]byte, 60)...)
			return bytes.Repeat(part, 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			errs := make(chan error, 2)
			done := func(err error) { errs <- err }
			get := &Call{Request: Request{Kind: Get, Length: 100}, Into: make([]byte, 100), Done: done}
			put := &Call{Request: Request{Kind: PutBlock}, Done: done}
			if err := p.c.Start(get, put); err != nil {
				t.Fatal(err)
			}
			ids := [2]uint32{p.request().id, p.request().id}
			if _, err := p.conn.Write(answer(ids[0], ids[1])); err != nil {
				t.Error(err)
			}
			for range 2 {
				if err := <-errs; !errors.Is(err, ErrMessage) || !errors.Is(err, fileservice.ErrIntegrity) {
					t.Error(err)
				}
			}
			if !errors.Is(p.c.Start(&Call{}), ErrEnded) {
				t.Error("the connection is open")
			}
		})
	}
}

func message(h header) []byte { return h.append(nil) }

// TestEarlyEnd ends connections within answers. The error allows another attempt.
func TestEarlyEnd(t *testing.T) {
	answer := append(message(header{id: 1, kind: end, head: 5, data: 100}), make([]byte, 105)...)
	for _, n := range []int{0, 1, headerSize, headerSize + 3, headerSize + 5, headerSize + 50, len(answer) - 1} {
		p := newPeer(t)
		ended := make(chan error, 1)
		call := &Call{
			Request: Request{Kind: Get, Length: 100}, Into: make([]byte, 100), Done: func(err error) { ended <- err },
		}
		if err := p.c.Start(call); err != nil {
			t.Fatal(err)
		}
		p.request()
		if _, err := p.conn.Write(answer[:n]); err != nil {
			t.Fatal(err)
		}
		if err := p.conn.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, ErrEnded) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// TestOrderOfEnd learns of the end of a connection first where it is kept, and then by its calls.
func TestOrderOfEnd(t *testing.T) {
	near, far := pipe(t)
	serve(t, far, &handler{put: func(*Request, []byte) ([]byte, error) {
		return nil, far.Close()
	}})
	over := make(chan struct{})
	c, err := NewConn(context.Background(), near, time.Minute, func() { close(over) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(c, Request{Kind: PutBlock}, []byte("x")); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	select {
	case <-over:
	default:
		t.Error("a call has failed, and the owner of the connection knows nothing")
	}
}

// TestEarlyAnswer answers a put before its data was sent. Done waits until nothing uses the data.
func TestEarlyAnswer(t *testing.T) {
	near, far := net.Pipe() // takes no byte before it is read
	h := header{kind: alive}
	go func() {
		if _, err := io.ReadFull(far, make([]byte, len(Preface)+headerSize)); err != nil {
			t.Error(err)
		}
		if _, err := far.Write(h.append(nil)); err != nil {
			t.Error(err)
		}
	}()
	c, err := NewConn(t.Context(), near, time.Minute, func() {})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, MaxLength)
	ended := make(chan error, 1)
	call := &Call{Request: Request{Kind: PutBlock}, Data: data, Done: func(err error) {
		clear(data) // the race detector looks
		ended <- err
	}}
	if err := c.Start(call); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Write(message(header{id: 1, kind: end})); err != nil {
		t.Fatal(err)
	}
	if n := len(ended); n > 0 {
		t.Error("the call has ended, and its data is not sent")
	}
	if _, err := io.ReadFull(far, make([]byte, headerSize+requestHead+MaxLength)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// Without the rest of the data, the call ends with the connection.
	call = &Call{Request: Request{Kind: PutBlock}, Data: data, Done: func(err error) { ended <- err }}
	if err := c.Start(call); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("cause")
	c.Fail(cause)
	if err := <-ended; !errors.Is(err, cause) {
		t.Error(err)
	}
	if err := far.Close(); err != nil {
		t.Error(err)
	}
}

// TestDeafServer takes no requests. Callers of puts do not wait for it, and Fail ends the calls.
func TestDeafServer(t *testing.T) {
	p := newPeer(t)
	cause := errors.New("cause")
	errs := make(chan error, 100)
	data := make([]byte, MaxLength)
	for range cap(errs) {
		call := &Call{Request: Request{Kind: PutBlock}, Data: data, Done: func(err error) { errs <- err }}
		if err := p.c.Start(call); err != nil {
			t.Fatal(err)
		}
	}
	p.c.Fail(cause)
	for range cap(errs) {
		if err := <-errs; !errors.Is(err, cause) && !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
	}
}

// TestHostileRequests breaks the rules after a good request. The session ends, and nothing is left.
func TestHostileRequests(t *testing.T) {
	head := requestHead + 4
	put := message(header{id: 1, kind: PutBlock, head: head, data: 10})
	for name, b := range map[string][]byte{
		"kind 0":              message(header{id: 1}),
		"kind 8":              message(header{id: 1, kind: 8, head: head}),
		"a short head":        message(header{id: 1, kind: Get, head: requestHead - 1}),
		"a long head":         message(header{id: 1, kind: Get, head: maxHead + 1}),
		"no head":             message(header{id: 1, kind: PutBlock, data: 1}),
		"unknown flags":       message(header{id: 1, kind: Get, flags: 4, head: head}),
		"flags of a put":      message(header{id: 1, kind: PutBlock, flags: flagSum, head: head}),
		"too long":            message(header{id: 1, kind: Get, head: head, length: MaxLength + 1}),
		"far too long":        message(header{id: 1, kind: Get, head: head, length: 1<<32 - 1}),
		"data of a get":       message(header{id: 1, kind: Get, head: head, data: 1}),
		"length of a put":     message(header{id: 1, kind: PutDraft, head: head, length: 1}),
		"too much data":       message(header{id: 1, kind: PutDraft, head: head, data: MaxLength + 1}),
		"far too much data":   message(header{id: 1, kind: PutDraft, head: head, data: 1<<32 - 1}),
		"HELLO with a head":   message(header{kind: hello, head: 1}),
		"CANCEL with data":    message(header{kind: cancel, data: 1}),
		"an end in a header":  {0, 0, 0, 1, 3},
		"an end in a head":    append(message(header{id: 1, kind: Get, head: head}), make([]byte, head-1)...),
		"an end in a put":     append(bytes.Clone(put), make([]byte, head+9)...),
		"an end before a put": append(bytes.Clone(put), make([]byte, head)...),
	} {
		t.Run(name, func(t *testing.T) {
			near, far := pipe(t)
			h := &handler{content: pattern(100)}
			s := NewSession(far, h, 4, time.Minute)
			served := make(chan error, 1)
			go func() { served <- errors.Join(s.Serve()) }()
			r := Request{Kind: Get, Target: "file", Length: 50}
			if _, err := near.Write(append(r.append(nil, 7, 0), b...)); err != nil {
				t.Fatal(err)
			}
			if err := near.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if err := <-served; err == nil {
				t.Error("no error")
			}
			if err := errors.Join(near.Close()); err != nil {
				t.Error(err)
			}
			_ = far.Close() // the session has closed it
			h.check(t)
		})
	}
}

// TestHello has a client that waits for a moment only. The session does not become busy with signs of life.
func TestHello(t *testing.T) {
	near, far := pipe(t)
	release := make(chan struct{})
	h := &handler{put: func(*Request, []byte) ([]byte, error) {
		<-release
		return nil, nil
	}}
	serve(t, far, h)
	put := Request{Kind: PutBlock}
	b := append([]byte(Preface), message(header{kind: hello, length: 0})...)
	if _, err := near.Write(put.append(b, 1, 0)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	const messages = 20
	if _, err := io.ReadFull(near, make([]byte, messages*headerSize)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < (messages-2)*leastRest/2 {
		t.Errorf("%d messages within %v", messages, took)
	}
	close(release)
	if err := near.Close(); err != nil {
		t.Error(err)
	}
}

// TestDeafClient asks for much and takes nothing. When its connection is closed, the session ends.
func TestDeafClient(t *testing.T) {
	near, far := pipe(t)
	h := &handler{content: pattern(MaxLength), answers: make(chan struct{}, 2)}
	serve(t, far, h)
	b := append([]byte(Preface), message(header{kind: hello, length: 1000})...)
	for id := range uint32(100) {
		large := Request{Kind: Get, Target: "file", Length: MaxLength}
		small := Request{Kind: Get, Target: "file", Length: 1}
		b = small.append(large.append(b, 2*id+1, 0), 2*id+2, 0)
	}
	if _, err := near.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := near.Close(); err != nil {
		t.Error(err)
	}
}

// TestRefusedPuts has no memory for puts. Their data is read, and the connection goes on.
func TestRefusedPuts(t *testing.T) {
	refused := fileservice.ErrRefused
	content := pattern(100)
	c := connect(t, &handler{content: content, refuse: refused})
	for range 3 {
		if _, err := ask(c, Request{Kind: PutDraft}, make([]byte, MaxLength)); !errors.Is(err, refused) {
			t.Error(err)
		}
		see(t, c, content, 0, 100)
	}
}

// TestShutdownInRefusedPut shuts a session down that is receiving the data of a put for which it has no memory. The
// put is answered before BYE.
func TestShutdownInRefusedPut(t *testing.T) {
	near, far := pipe(t)
	s := serve(t, far, &handler{refuse: fileservice.ErrRefused})
	put := Request{Kind: PutDraft}
	if _, err := near.Write(put.append([]byte(Preface), 1, MaxLength)); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, "the session to wait for data", func() bool {
		toSend, _ := s.Waits()
		return toSend
	})
	s.Shutdown()
	if _, err := near.Write(make([]byte, MaxLength)); err != nil {
		t.Error(err)
	}
	for _, want := range []Kind{failed, bye} {
		var b [headerSize]byte
		var h header
		_, err := io.ReadFull(near, b[:])
		if h.parse(b[:]); err == nil {
			_, err = io.ReadFull(near, make([]byte, h.head))
		}
		if err != nil || h.kind != want {
			t.Errorf("a message of kind %d, want %d: %v", h.kind, want, err)
		}
	}
	if err := near.Close(); err != nil {
		t.Error(err)
	}
}

// TestLongErrors has errors and results that do not fit in a message.
func TestLongErrors(t *testing.T) {
	c := connect(t, &handler{put: func(r *Request, _ []byte) ([]byte, error) {
		if r.Target == "error" {
			return nil, errors.New(string(bytes.Repeat([]byte("long "), 1<<20)))
		}
		return make([]byte, 1<<16), nil
	}})
	for _, target := range []string{"error", "result", "error"} {
		if _, err := ask(c, Request{Kind: PutDraft, Target: target}, nil); err == nil || len(err.Error()) > 1000 ||
			errors.Is(err, ErrMessage) || errors.Is(err, ErrEnded) {
			t.Errorf("%s: %.1000v", target, err)
		}
	}
}
