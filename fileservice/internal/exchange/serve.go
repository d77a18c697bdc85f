package exchange

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/traffic"
	"culvert/fileservice/internal/wire"
)

// A Session is the server's end of a connection.
type Session struct {
	conn    net.Conn
	handler Handler
	reader  *bufio.Reader
	input   []byte // head of the current request

	writing  sync.Mutex // held while a message is written
	closing  atomic.Bool
	awaiting atomic.Bool   // the rest of a request
	sending  atomic.Bool   // a message
	rest     time.Duration // the longest time between two ALIVE
	ticker   *time.Ticker  // for ALIVE

	listening atomic.Bool   // the reader waits for the client
	last      atomic.Uint32 // id of the last request that the reader is done with

	jobs   chan *job
	puts   chan struct{}  // has an element for each put that has memory
	queued sync.Map       // of ids and jobs: the one that the worker executes, and those that wait for it
	worker sync.WaitGroup // of all goroutines
}

// job is a request that the reader leaves to another goroutine.
type job struct {
	id       uint32
	start    time.Time
	request  Request
	data     Memory // of a put
	length   int    // of the data
	canceled atomic.Bool
}

// queuedPuts is how many puts of a connection have a block. Those of small files mostly wait for the disk, and the more
// wait together, the fewer syncs they need.
const queuedPuts = 4

// NewSession returns a session of a connection whose preface was read. At most depth requests wait for their turn. The
// session sends ALIVE after each rest, or more often if the client asks for that, so that the system also notices a
// client that is gone.
func NewSession(conn net.Conn, handler Handler, depth int, rest time.Duration) *Session {
	rest = max(rest, leastRest)
	return &Session{
		conn: conn, handler: handler, reader: bufio.NewReaderSize(conn, readBuffer), rest: rest,
		jobs: make(chan *job, depth), puts: make(chan struct{}, queuedPuts),
	}
}

// Serve answers requests until the client closes the connection, the connection fails, or Shutdown. It does not close
// the connection.
func (s *Session) Serve() error {
	s.ticker = time.NewTicker(s.rest)
	defer s.ticker.Stop()
	ended := make(chan struct{})
	s.worker.Go(func() { s.sayAlive(ended) })
	s.worker.Go(s.work)
	err := s.read()
	isEnd := err == io.EOF || s.closing.Load() && errors.Is(err, os.ErrDeadlineExceeded)
	if !isEnd {
		traffic.Cut(s.conn) // the worker may be writing
	}
	close(ended)
	close(s.jobs)
	s.worker.Wait()
	if !isEnd {
		return err
	}
	if s.closing.Load() {
		h := header{kind: bye}
		_ = s.write(h.append(nil), nil) // the client may be gone
	}
	return nil
}

// Shutdown ends Serve when the requests in progress are answered.
func (s *Session) Shutdown() {
	s.closing.Store(true)
	_ = s.conn.SetReadDeadline(time.Unix(1, 0)) // it fails if the connection is closed
}

// leastRest is the least time between two ALIVE, whatever the client asks for.
const leastRest = 5 * time.Millisecond

// sayAlive sends ALIVE at each tick, unless another message is being sent.
func (s *Session) sayAlive(ended chan struct{}) {
	var message []byte
	for {
		select {
		case <-s.ticker.C:
			if s.writing.TryLock() {
				h := s.report()
				message = h.append(message[:0])
				_ = s.writeLocked(message, nil) // if it fails, reading fails
			}
		case <-ended:
			return
		}
	}
}

// report returns the ALIVE of this moment. The client compares it with the requests that it has sent.
func (s *Session) report() header {
	h := header{kind: alive, length: int(s.handler.Received() & math.MaxInt32)}
	if s.listening.Load() {
		h.flags = flagListening
	}
	h.id = s.last.Load() // after the flag, so that it is not older
	return h
}

// Waits reports whether the session waits for the client to send the rest of a request, and to take a message.
func (s *Session) Waits() (toSend, toTake bool) { return s.awaiting.Load(), s.sending.Load() }

// read executes or queues requests.
func (s *Session) read() error {
	answers := answers{session: s}
	defer answers.free()
	var b [headerSize]byte
	for {
		if s.closing.Load() {
			return cmp.Or(answers.flush(), io.EOF)
		}
		if err := answers.before(headerSize); err != nil {
			return err
		}
		s.listening.Store(true)
		_, err := io.ReadFull(s.reader, b[:])
		s.listening.Store(false)
		if err != nil {
			return err
		}
		var h header
		h.parse(b[:])
		if err := h.checkRequest(); err != nil {
			return err
		}
		switch h.kind {
		case hello:
			s.ticker.Reset(min(s.rest, max(time.Duration(h.length)*time.Millisecond/3, leastRest)))
			h = header{kind: alive}
			if err := s.write(h.append(nil), nil); err != nil {
				return err
			}
			continue
		case cancel:
			if j, is := s.queued.Load(h.id); is {
				j.(*job).canceled.Store(true)
			}
			continue
		}
		if cap(s.input) < h.head {
			s.input = make([]byte, h.head)
		}
		head := s.input[:h.head]
		if err := answers.before(h.head); err != nil {
			return err
		}
		if err := s.receive(head); err != nil {
			return err
		}
		var r Request
		r.parse(&h, head)
		start := time.Now()
		s.handler.Began()
		if h.kind.IsPut() || r.Length > MaxInline || r.Summed && r.inBlock() > 0 {
			// Reading the data, and waiting for the worker, may take long.
			if err = answers.before(math.MaxInt); err == nil {
				err = s.queue(&h, r, start)
			} else {
				s.handler.Ended(&r, start, 0, err)
			}
		} else {
			err = answers.get(h.id, &r, start)
		}
		if err != nil {
			return err
		}
		s.last.Store(h.id)
	}
}

// noEOF returns the error of a connection that ended within a message.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// queue passes a request to the worker. Puts that need no order have goroutines of their own.
func (s *Session) queue(h *header, r Request, start time.Time) error {
	j := &job{id: h.id, start: start, request: r, length: h.data}
	if h.kind.IsPut() {
		s.puts <- struct{}{}
		memory, err := s.handler.Blocks()
		if err != nil {
			return s.refuse(j, err)
		}
		if err := s.receive(memory.Bytes()[:h.data]); err != nil {
			memory.Free()
			s.handler.Ended(&j.request, start, 0, err)
			return err
		}
		j.data = memory
		if h.kind != PutDraft {
			s.worker.Go(func() { s.put(j) })
			return nil
		}
	}
	s.queued.Store(j.id, j)
	s.jobs <- j
	return nil
}

// receive receives the head of a request, or the data of a put. A Shutdown waits for it.
func (s *Session) receive(p []byte) error {
	s.awaiting.Store(true)
	s.listening.Store(true)
	defer s.awaiting.Store(false)
	defer s.listening.Store(false)
	for {
		n, err := io.ReadFull(s.reader, p)
		if p = p[n:]; len(p) == 0 {
			return nil
		}
		if s.closing.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
			err = s.conn.SetReadDeadline(time.Time{})
		}
		if err != nil {
			return noEOF(err)
		}
	}
}

// refuse fails a put without executing it.
func (s *Session) refuse(j *job, err error) error {
	<-s.puts
	var failed error
	unwanted := make([]byte, readBuffer)
	for left := j.length; left > 0 && failed == nil; left -= len(unwanted) {
		unwanted = unwanted[:min(left, len(unwanted))]
		failed = s.receive(unwanted)
	}
	s.handler.Ended(&j.request, j.start, 0, err)
	if failed != nil {
		return failed
	}
	return s.write(endOf(j.id, nil, 0, err), nil)
}

// work executes requests in their order.
func (s *Session) work() {
	for j := range s.jobs {
		if j.data != nil {
			s.put(j)
		} else {
			s.get(j)
		}
		s.queued.Delete(j.id)
	}
}

func (s *Session) put(j *job) {
	head, err := s.handler.Put(&j.request, j.data.Bytes()[:j.length])
	j.data.Free()
	<-s.puts
	s.handler.Ended(&j.request, j.start, j.length, err)
	s.answer(endOf(j.id, head, 0, err), nil)
}

// answer writes the last message of a request, or ends the connection.
func (s *Session) answer(message, data []byte) {
	if err := s.write(message, data); err != nil {
		traffic.Cut(s.conn) // which ends read
	}
}

// write writes messages, and the data of the last one. A write of data alone lets package secureconn seal and open
// whole records without copying.
func (s *Session) write(messages, data []byte) error {
	s.writing.Lock()
	return s.writeLocked(messages, data)
}

// writeLocked is called with writing held, and releases it.
func (s *Session) writeLocked(messages, data []byte) error {
	defer s.writing.Unlock()
	s.sending.Store(true)
	defer s.sending.Store(false)
	if _, err := s.conn.Write(messages); err != nil || len(data) == 0 {
		return err
	}
	_, err := s.conn.Write(data)
	return err
}

func (s *Session) get(j *job) {
	memory, err := s.handler.Answers()
	if err != nil {
		s.handler.Ended(&j.request, j.start, 0, err)
		traffic.Cut(s.conn)
		return
	}
	defer memory.Free()
	content, err := s.handler.Get(&j.request)
	var head, last []byte
	sent := 0
	if err == nil {
		sent, head, last, err = s.send(j, &content, memory.Bytes()[:MaxPart])
	}
	s.handler.Ended(&j.request, j.start, sent+len(last), err)
	s.answer(endOf(j.id, head, len(last), err), last)
}

// send sends all parts of a content except the last, which it returns with the head of the END. It closes the content.
func (s *Session) send(j *job, content *Content, memory []byte) (sent int, head, last []byte, err error) {
	defer func() { err = errors.Join(err, content.close()) }()
	var sums fileservice.BlockSum
	sums.Reset(j.request.Offset / fileservice.BlockSize)
	if j.request.Summed && content.File != nil {
		if err := sumBefore(&sums, content, j.request.inBlock(), memory); err != nil {
			return 0, nil, nil, err
		}
	}
	var message [headerSize]byte
	for {
		part := memory[:min(len(memory), content.Length-sent)]
		if j.canceled.Load() {
			return sent, nil, nil, context.Canceled
		}
		if content.File != nil {
			if err := content.File.ReadAt(part, content.Offset+int64(sent)); err != nil {
				return sent, nil, nil, err
			}
		}
		if j.request.Summed {
			sums.Write(part)
		}
		if sent+len(part) == content.Length {
			if j.request.Summed {
				sum := sums.Sum()
				head = sum[:]
			}
			return sent, append(head, content.Head...), part, nil
		}
		h := header{id: j.id, kind: more, data: len(part)}
		if err := s.write(h.append(message[:0]), part); err != nil {
			return sent, nil, nil, err
		}
		sent += len(part)
	}
}

// sumBefore adds the n bytes before a content to the sum.
func sumBefore(sums *fileservice.BlockSum, content *Content, n int64, memory []byte) error {
	for n > 0 {
		part := memory[:min(int64(len(memory)), n)]
		if err := content.File.ReadAt(part, content.Offset-n); err != nil {
			return err
		}
		sums.Write(part)
		n -= int64(len(part))
	}
	return nil
}

// endOf returns an END with n bytes of data, or a FAILED.
func endOf(id uint32, head []byte, n int, err error) []byte {
	h := header{id: id, kind: end, head: len(head), data: n}
	if err == nil && len(head) > math.MaxUint16 {
		err = errors.New("fileservice: the result is too long")
	}
	if err != nil {
		head = wire.MarshalError(err)
		h = header{id: id, kind: failed, head: len(head)}
	}
	return append(h.append(nil), head...)
}
