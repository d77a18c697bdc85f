package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// A gRPC message costs far more than a small read, and a call costs more than a message. So small reads of several
// goroutines share messages, and messages share calls. Each lane is a stream with one request in progress; reads that
// arrive while all lanes are busy go together into the next request. No read waits for others to arrive.
const (
	// maxPieceNames bounds the names in a request. Each counts maxPieceFields more, for the other fields of its piece.
	// A server that is not writable accepts no request beyond its requestWindow.
	maxPieceNames  = 48 << 10
	maxPieceFields = 80

	// A near server, which has answered within nearServer, has fewLanes, because processing dominates. Any other has
	// manyLanes, because waiting dominates.
	fewLanes   = 8
	manyLanes  = 64
	nearServer = 5 * time.Millisecond

	// laneIdle is how long a lane waits for another read before it ends. A server that shuts down waits as long, and
	// does not consider the connection idle. laneLife limits the use of one stream, because a server may allow so few
	// calls that others wait for its end. A new stream costs some 100 µs of CPU time.
	laneIdle = 50 * time.Millisecond
	laneLife = 200 * time.Millisecond
)

// errStreamEnded: a server that shuts down ends streams between two requests.
var errStreamEnded = errors.New("the server has ended the stream")

// piece is one small read.
type piece struct {
	client  *Client
	name    string // in errors
	path    string // on the server
	version fileservice.Version
	p       []byte
	offset  int64

	taken atomic.Bool // p is being filled, or its reader has gone
	alone bool        // the server did not read it; it needs a call of its own
	done  func(error) // called once; must not block
}

// pieces are the small reads of a client.
type pieces struct {
	client *Client
	wake   chan struct{} // has a token for each idle lane that must continue

	mu     sync.Mutex
	queue  []*piece
	lanes  int           // all
	idle   int           // waiting lanes without a token
	least  time.Duration // of the fastest answer
	spaces sync.Pool     // of *[messageSize]byte
}

// read fills p, which has at most MaxPiece bytes, as ReadRange does.
func (s *pieces) read(c *Client, name string, version fileservice.Version, p []byte, offset int64) error {
	if c.ctx.Err() != nil {
		return &fs.PathError{Op: "read", Path: name, Err: context.Cause(c.ctx)}
	}
	done := make(chan error, 1)
	r := s.start(c, name, version, p, offset, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-c.ctx.Done():
		if !r.taken.CompareAndSwap(false, true) { // p is being filled
			return <-done
		}
		return &fs.PathError{Op: "read", Path: name, Err: context.Cause(c.ctx)}
	}
}

// start starts a read, and calls done when it has ended.
func (s *pieces) start(
	c *Client, name string, version fileservice.Version, p []byte, offset int64, done func(error),
) *piece {
	r := &piece{client: c, name: name, path: c.at(name), version: version, p: p, offset: offset, done: done}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, r)
	switch {
	case s.idle > 0:
		s.idle--
		s.wake <- struct{}{}
	case s.lanes < s.limit():
		s.lanes++
		go (&lane{pieces: s}).run()
	}
	return r
}

func (s *pieces) limit() int {
	if s.least > nearServer {
		return manyLanes
	}
	return fewLanes
}

// take returns the reads of the next message, or nil if there are none.
func (s *pieces) take() []*piece {
	var n, size, names int
	for n < min(len(s.queue), wire.MaxPieces) {
		size += len(s.queue[n].p)
		names += len(s.queue[n].path) + maxPieceFields
		if size > wire.MessageSize || names > maxPieceNames {
			break
		}
		n++
	}
	parcel := s.queue[:n:n]
	s.queue = s.queue[n:]
	if len(s.queue) == 0 {
		s.queue = nil
	}
	return parcel
}

// next waits for the reads of the next message. It returns nil if none came within laneIdle.
func (s *pieces) next(idle *time.Timer) []*piece {
	for {
		s.mu.Lock()
		parcel := s.take()
		if len(parcel) > 0 {
			s.mu.Unlock()
			return parcel
		}
		s.idle++
		s.mu.Unlock()
		idle.Reset(laneIdle)
		select {
		case <-s.wake:
			continue
		case <-idle.C:
		case <-s.client.ctx.Done():
		}
		s.mu.Lock()
		if s.idle > 0 {
			s.idle--
			s.lanes--
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		<-s.wake
	}
}

// lane is one stream of parcels. Each parcel waits for the answer to the one before.
type lane struct {
	*pieces
	call     *call // nil if there is no stream
	stream   grpc.ClientStream
	began    time.Time // start of the stream
	answered bool      // the stream has received an answer
}

func (l *lane) run() {
	idle := time.NewTimer(laneIdle)
	defer idle.Stop()
	for parcel := l.next(idle); parcel != nil; parcel = l.next(idle) {
		l.lead(parcel)
	}
	_ = l.end(nil) // never fails
}

// lead reads a parcel.
func (l *lane) lead(parcel []*piece) {
	start := time.Now()
	old := l.isOpen()
	err := l.exchange(parcel)
	if old && err != nil && !errors.Is(err, fileservice.ErrIntegrity) && !errors.Is(err, errSilent) {
		// The stream may have ended while it was idle.
		start = time.Now()
		err = l.exchange(parcel)
	}
	took := time.Since(start)
	l.mu.Lock()
	if err == nil && (l.least == 0 || took < l.least) {
		l.least = took
	}
	l.mu.Unlock()
	for _, r := range parcel {
		switch {
		case err != nil:
			r.done(&fs.PathError{Op: "read", Path: r.name, Err: err})
		case r.alone:
			go func() { r.done(r.client.ReadRange(r.client.ctx, r.name, r.version, r.p, r.offset)) }()
		default:
			r.done(nil)
		}
	}
}

// exchange sends a parcel and receives the answer. Pieces that the server did not read are marked alone; their own
// calls find the reason.
func (l *lane) exchange(parcel []*piece) error {
	err := l.open(parcel[0].path)
	if err == nil {
		if err = l.readParcel(parcel); err == nil {
			l.call.pause()
			l.answered = true
			return nil
		}
		err = l.end(err)
	}
	if pathError, is := errors.AsType[*fs.PathError](err); is {
		err = pathError.Err
	}
	return err
}

// isOpen reports whether the next request may use the current stream.
func (l *lane) isOpen() bool {
	return l.call != nil && l.call.ctx.Err() == nil && time.Since(l.began) < laneLife
}

func (l *lane) open(name string) error {
	if l.isOpen() {
		l.call.advance()
		return nil
	}
	_ = l.end(nil) // never fails
	call, err := l.client.begin(l.client.ctx, "read", name)
	if err != nil {
		return err
	}
	stream, err := call.link.service.ReadPieces(call.ctx)
	if err != nil {
		return call.end(err)
	}
	l.call, l.stream, l.began, l.answered = call, stream, time.Now(), false
	return nil
}

// end ends the stream, if there is one, without waiting for the server. It returns err in the form for callers.
func (l *lane) end(err error) error {
	if l.call == nil {
		return nil
	}
	err = l.call.end(err)
	l.call, l.stream = nil, nil
	return err
}

func (l *lane) readParcel(parcel []*piece) error {
	request := &fileservicepb.ReadPiecesRequest{}
	size := 0
	for _, r := range parcel {
		request.Pieces = append(request.Pieces, &fileservicepb.ReadRequest{
			Path: r.path, Version: wire.VersionMessage(r.version), Offset: r.offset, Length: int64(len(r.p)),
		})
		size += len(r.p)
	}
	var space *[wire.MessageSize]byte // allocated when data arrives: many lanes may be waiting
	defer func() {
		if space != nil {
			l.spaces.Put(space)
		}
	}()
	response := &fileservicepb.ReadPiecesResponse{}
	message := &wire.Incoming{Fields: response, Room: func(int) ([]byte, error) {
		if space == nil {
			if space, _ = l.spaces.Get().(*[wire.MessageSize]byte); space == nil {
				space = new([wire.MessageSize]byte)
			}
		}
		return space[:size], nil // more is refused
	}}
	if err := l.stream.SendMsg(request); err != nil && err != io.EOF { // after io.EOF, the answer has the error
		return err
	}
	err := receive(l.call, func(message any) error {
		err := l.stream.RecvMsg(message)
		if err == io.EOF && l.answered {
			return errStreamEnded
		}
		return err
	}, message)
	if err != nil {
		return err
	}
	return scatter(parcel, response.GetFailed(), message.Into[:message.N])
}

// scatter copies data to its reads, and marks those that failed.
func scatter(parcel []*piece, failed []uint32, data []byte) error {
	for i, r := range parcel {
		wanted := r.taken.CompareAndSwap(false, true)
		has := len(failed) == 0 || failed[0] != uint32(i)
		r.alone = wanted && !has
		if !has {
			failed = failed[1:]
			continue
		}
		if len(data) < len(r.p) {
			return fmt.Errorf("%w: fewer bytes than requested", fileservice.ErrIntegrity)
		}
		if wanted {
			copy(r.p, data)
		}
		data = data[len(r.p):]
	}
	if len(data) > 0 || len(failed) > 0 {
		return fmt.Errorf("%w: more data than requested", fileservice.ErrIntegrity)
	}
	return nil
}
