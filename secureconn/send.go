package secureconn

import (
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"culvert/bytebuf"
	"culvert/internal/strictio"
)

const (
	recordSize  = 256 << 10                     // most plaintext that is sent in a record; measured in bench/README.md
	parcelSize  = 2 * (recordSize + 2*overhead) // two records, and a REKEY before each
	sendParcels = 4                             // of a connection
	writeBehind = 16 << 10                      // least size of a Write that leaves writing to the helper
	minBeside   = 64 << 10                      // least plaintext that is sealed or opened in another goroutine
	visibleSize = 32 << 10                      // of one write if only Traffic shows progress, unlike TCP on Linux
)

// parcel is a buffer of sealed records that are to be written.
type parcel struct {
	memory  bytebuf.Buffer
	sealed  []byte
	written int
}

// sender is the outgoing half of a connection.
//
// One caller at a time seals records into parcels. One flusher at a time, a caller or the helper, writes the parcels in
// order. Sealing waits for the flusher only if all parcels are full.
type sender struct {
	conn   net.Conn
	atOnce int // bytes to write

	sealing sync.Mutex // guards the fields up to mu
	out     direction
	ended   bool // CLOSE is sealed

	second work // of the sealer
	beside sync.WaitGroup

	patience time.Duration // of Close
	deadline atomic.Int64  // for writes, in Unix nanoseconds; 0 for none

	mu      sync.Mutex
	changed sync.Cond
	parcels [sendParcels]parcel // a ring; the queue begins at first
	first   int
	queued  int
	adding  bool  // records are being added to the last parcel of the queue
	flushes bool  // a flusher is running
	stalled error // the deadline that ended the last flush
	setting int   // number of deadlines that were set
	total   int64 // bytes written
	err     error // sticky

	// Functions of goroutines, stored because a go statement would allocate a closure each time.
	helper func() // flush
	sealer func() // seals second
}

func (s *sender) init(conn net.Conn) {
	s.conn = conn
	s.changed.L = &s.mu
	s.helper = s.flush
	s.sealer = func() {
		s.second.seal()
		s.beside.Done()
	}
	s.patience = closeTimeout
	s.atOnce = parcelSize
	if _, is := conn.(*net.TCPConn); !is || runtime.GOOS != "linux" {
		s.atOnce = visibleSize
	}
}

// write implements Write.
func (s *sender) write(p []byte) (n int, err error) {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	if err := s.writable(); err != nil {
		return 0, err
	}
	behind := len(p) >= writeBehind
	for len(p) > 0 {
		chunk := p[:min(len(p), 2*recordSize)]
		buf, err := s.reserve(len(chunk)+4*overhead, true)
		if err != nil {
			return n, err
		}
		sealed, err := s.sealData(buf, chunk)
		if err != nil {
			return n, s.abandon(err)
		}
		n, p = n+len(chunk), p[len(chunk):]
		if err := s.dispatch(0, len(sealed), behind); err != nil {
			return n, err
		}
	}
	return n, nil
}

// writable returns an error if no record may be sealed.
func (s *sender) writable() error {
	if s.ended {
		return errWriteClosed
	}
	if deadline := s.deadline.Load(); deadline != 0 && time.Now().UnixNano() >= deadline {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// sealData appends one or two DATA records to buf. Of two, another goroutine seals the first.
func (s *sender) sealData(buf, plaintext []byte) ([]byte, error) {
	if half := len(plaintext) / 2; half >= minBeside {
		var err error
		if buf, err = s.sealBeside(buf, plaintext[:half]); err != nil {
			return buf, err
		}
		defer s.beside.Wait()
		plaintext = plaintext[half:]
	}
	buf, err := s.rekey(buf, len(plaintext))
	if err != nil {
		return buf, err
	}
	return s.out.seal(buf, kindData, plaintext)
}

// sealBeside appends a DATA record, which the sealer seals.
func (s *sender) sealBeside(buf, plaintext []byte) ([]byte, error) {
	buf, err := s.rekey(buf, len(plaintext))
	if err != nil {
		return buf, err
	}
	if buf, err = s.out.prepare(&s.second, buf, kindData, plaintext); err == nil {
		s.beside.Add(1)
		go s.sealer()
	}
	return buf, err
}

// rekey appends a REKEY if a record with n bytes of plaintext needs one before it.
func (s *sender) rekey(buf []byte, n int) ([]byte, error) {
	if !s.out.isDue(n + 2*overhead) {
		return buf, nil
	}
	return s.out.seal(buf, kindRekey, nil)
}

// reserve returns an empty slice with capacity for n bytes, at the end of the queue. If shared is set it may be in the
// last parcel, which then waits for dispatch; otherwise it is a new parcel, and the queue continues without it.
func (s *sender) reserve(n int, shared bool) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.err != nil {
			return nil, s.err
		}
		if last := s.last(); shared && s.queued > 0 && cap(last.sealed)-len(last.sealed) >= n {
			s.adding = true
			return last.sealed[len(last.sealed):], nil
		}
		if s.queued < sendParcels {
			break
		}
		if err := s.await(); err != nil {
			return nil, err
		}
	}
	if n > writeBehind || s.queued > 0 && shared {
		n = parcelSize
	}
	next := &s.parcels[(s.first+s.queued)%sendParcels]
	next.sealed = next.memory.Extend(n)[:0:n]
	return next.sealed, nil
}

// last returns the parcel at the end of the queue. mu must be held.
func (s *sender) last() *parcel { return &s.parcels[(s.first+s.queued+sendParcels-1)%sendParcels] }

// await waits until the queue has changed, and starts the helper if no flusher is running. The error is sticky, or a
// deadline. mu must be held.
func (s *sender) await() error {
	if s.stalled = nil; !s.flushes {
		s.flushes = true
		go s.helper()
	}
	s.changed.Wait()
	if s.err != nil {
		return s.err
	}
	return s.stalled
}

// dispatch adds bytes from to to of the slice of reserve to the queue. They are written by the helper if behind is set,
// and otherwise before dispatch returns, unless a flusher is running.
func (s *sender) dispatch(from, to int, behind bool) error {
	s.mu.Lock()
	if s.adding {
		last := s.last()
		last.sealed = last.sealed[:len(last.sealed)+to]
		s.adding = false
	} else {
		added := &s.parcels[(s.first+s.queued)%sendParcels]
		added.sealed, added.written = added.sealed[:to], from
		s.queued++
	}
	err := s.err
	if s.flushes || err != nil {
		s.mu.Unlock()
		return err
	}
	s.flushes, s.stalled = true, nil
	s.mu.Unlock()
	if behind {
		go s.helper()
		return nil
	}
	s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.queued == 0:
		return nil
	case s.err != nil:
		return s.err
	}
	return s.stalled
}

// unreserve takes back the new parcel of reserve.
func (s *sender) unreserve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	unused := &s.parcels[(s.first+s.queued)%sendParcels]
	unused.memory.Free()
	unused.sealed = nil
}

// abandon ends this direction, because a record could not be sealed.
func (s *sender) abandon(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adding = false
	return s.failLocked(err)
}

// fail makes all later calls return err, unless there is an earlier error.
func (s *sender) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failLocked(err)
}

func (s *sender) failLocked(err error) error {
	if s.err == nil {
		s.err = err
	}
	s.changed.Broadcast()
	return s.err
}

// flush writes the queue until it is empty or a write fails. The caller has set flushes. Records that are sealed into
// the last parcel meanwhile follow what is being written.
func (s *sender) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.canFlush() {
		p := &s.parcels[s.first]
		pending, setting := p.sealed[p.written:], s.setting
		pending = pending[:min(len(pending), s.atOnce)]
		s.mu.Unlock()
		n, err := strictio.Write(s.conn, pending)
		s.mu.Lock()
		p.written += n
		s.total += int64(n)
		s.discard()
		if isTimeout(err) {
			if setting != s.setting {
				continue // it was an earlier deadline
			}
			s.stalled = err
			break
		}
		if err != nil {
			_ = s.failLocked(err)
		}
		s.changed.Broadcast()
	}
	s.flushes = false
	s.changed.Broadcast()
}

// canFlush reports whether something can be written. mu must be held.
func (s *sender) canFlush() bool {
	s.discard()
	return s.err == nil && s.queued > 0 && s.parcels[s.first].written < len(s.parcels[s.first].sealed)
}

// discard frees the first parcel if it is written and nothing is being added to it. mu must be held.
func (s *sender) discard() {
	p := &s.parcels[s.first]
	if s.queued > 0 && p.written == len(p.sealed) && (!s.adding || s.queued > 1) {
		p.memory.Free()
		p.sealed = nil
		s.first, s.queued = (s.first+1)%sendParcels, s.queued-1
	}
}

// resume starts the helper, after a new deadline, if an earlier one has left something in the queue.
func (s *sender) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setting++
	if !s.flushes && s.canFlush() {
		s.flushes = true
		go s.helper()
	}
}

// drain waits until all that was sealed is written.
func (s *sender) drain() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && s.queued > 0 {
		if err := s.await(); err != nil {
			return err
		}
	}
	if s.queued == 0 {
		return nil
	}
	return s.err
}
