package secureconn

import (
	"io"
	"net"
	"sync"
	"sync/atomic"

	"culvert/bytebuf"
	"culvert/internal/strictio"
)

const (
	idleBatch  = 8 << 10            // for waiting
	bulkBatch  = recordSize + 8<<10 // for many small records
	ahead      = 3                  // batches that may wait to be opened
	minAhead   = 32 << 10           // bytes that arrive at once and make the helper read ahead
	minAligned = 128 << 10          // record that is read only to its end, so that nothing is moved
)

// batch is a buffer of sealed records. Those before whole are complete; a part of one may follow.
type batch struct {
	memory  bytebuf.Buffer
	buf     []byte
	next    int  // start of the records that are not opened yet
	whole   int  // end of the complete records
	end     int  // end of the data
	last    bool // nothing needs to be read after it
	exposed bool // it holds plaintext
}

// receiver is the incoming half of a connection.
//
// One fetcher at a time, a caller or the helper, fills batches, and one caller at a time opens them. The fetcher owns
// the batch partial; the caller owns current, and continues with the batches in ready. If several records have
// arrived, the opener opens one of them while the caller opens others. The caller waits for it before it returns.
type receiver struct {
	conn     strictio.Reader
	fail     func(error)  // ends the other direction
	isClosed *atomic.Bool // of the Conn
	arrived  atomic.Int64 // bytes read from the network

	reading sync.Mutex // guards the fields up to mu
	in      direction
	rest    []byte // plaintext in current that is not yet returned
	current *batch
	failure error // sticky

	second   work           // of the opener
	opening  *batch         // with the record of second, or nil
	openedAt int            // start of its plaintext in the caller's slice
	openErr  error          // of the opener
	beside   sync.WaitGroup // for the opener

	mu       sync.Mutex
	changed  sync.Cond
	partial  *batch // nil if nothing follows the last record
	ready    [ahead]*batch
	waiting  int // in ready
	spare    []*batch
	fetching bool
	lost     error // sticky, of the network connection
	ended    bool  // CLOSE has arrived

	helper func() // readAhead
	opener func() // opens second
}

func (r *receiver) init(conn net.Conn, fail func(error), isClosed *atomic.Bool) {
	r.conn.R, r.fail, r.isClosed = conn, fail, isClosed
	r.changed.L = &r.mu
	r.helper = r.readAhead
	r.opener = func() {
		r.openErr = r.second.open()
		r.beside.Done()
	}
}

// obtain returns an empty batch of n bytes. mu must be held.
func (r *receiver) obtain(n int) *batch {
	var b *batch
	if last := len(r.spare) - 1; last >= 0 {
		b, r.spare = r.spare[last], r.spare[:last]
	} else {
		b = new(batch)
	}
	b.buf = b.memory.Extend(n)
	b.next, b.whole, b.end, b.last = 0, 0, 0, false
	return b
}

// release takes a batch back, and clears plaintext, because the memory is reused by others. mu must be held.
func (r *receiver) release(b *batch) {
	if b.exposed {
		clear(b.buf[:b.end])
		b.exposed = false
	}
	b.memory.Free()
	b.buf = nil
	r.spare = append(r.spare, b)
}

// fetch reads until partial has a complete or a malformed record. The caller has set fetching, and does not hold mu.
// After a deadline fetch may be called again.
func (r *receiver) fetch() error {
	for {
		r.mu.Lock()
		b, limit := r.prepare()
		r.mu.Unlock()
		if limit == 0 {
			return nil
		}
		n, err := r.conn.Read(b.buf[b.end:limit])
		if n == 0 && err != nil {
			return err
		}
		r.arrived.Add(int64(n))
		b.end += n
	}
}

// prepare makes room in partial for the next Read, which may fill it up to limit. The limit is 0 if nothing needs to be
// read. mu must be held.
func (r *receiver) prepare() (b *batch, limit int) {
	if r.partial == nil {
		r.partial = r.obtain(idleBatch)
	}
	b = r.partial
	if b.end < headerSize {
		return b, len(b.buf)
	}
	n, err := recordLen(b.buf)
	if err != nil || b.end >= n {
		return b, 0
	}
	// After a large record only the header of the next one is read, so that nothing larger has to be moved.
	if n > len(b.buf) {
		b = r.obtain(max(n+headerSize, bulkBatch))
		b.end = copy(b.buf, r.partial.buf[:r.partial.end])
		r.release(r.partial)
		r.partial = b
	}
	if n >= minAligned {
		return b, min(n+headerSize, len(b.buf))
	}
	return b, len(b.buf)
}

// deliver returns the batch of complete records, and moves what follows them to a new partial. mu must be held.
func (r *receiver) deliver() *batch {
	b := r.partial
	r.partial = nil
	need := 0
	for b.end-b.whole >= headerSize {
		n, err := recordLen(b.buf[b.whole:])
		if err != nil {
			// Opening finds the same error. Nothing after it is read.
			b.whole, b.last = b.end, true
			break
		}
		if b.whole+n > b.end {
			need = n
			break
		}
		b.whole += n
		if kind(b.buf[b.whole-n]) == kindClose {
			b.last = true
			break
		}
	}
	if tail := b.buf[b.whole:b.end]; len(tail) > 0 && !b.last {
		room := idleBatch
		if need > 0 && b.end >= minAhead {
			room = max(need+headerSize, bulkBatch)
		}
		r.partial = r.obtain(max(room, need+headerSize))
		r.partial.end = copy(r.partial.buf, tail)
	}
	return b
}

// readAhead is the helper. It fetches until ready is full, or the next record may take long to arrive.
func (r *receiver) readAhead() {
	for {
		err := r.fetch()
		r.mu.Lock()
		if err != nil {
			// After a deadline, the next Read continues.
			r.lose(err)
			break
		}
		b := r.deliver()
		r.ready[r.waiting] = b
		r.waiting++
		r.changed.Broadcast()
		if r.waiting == ahead || !r.isWorthwhile(b) {
			break
		}
		r.mu.Unlock()
	}
	r.fetching = false
	r.changed.Broadcast()
	r.mu.Unlock()
}

// isWorthwhile reports whether to read ahead after b: more of its size may be on the way. mu must be held.
func (r *receiver) isWorthwhile(b *batch) bool { return b.end >= minAhead && !b.last && r.lost == nil }

// lose makes an error of the network connection sticky, unless it is a deadline. mu must be held.
func (r *receiver) lose(err error) {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if !isTimeout(err) {
		r.lost = err
	}
}

// advance sets current to a batch with a complete record, and starts the helper if it is worthwhile.
func (r *receiver) advance() error {
	r.tidy()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.waiting == 0 && r.fetching {
		r.changed.Wait()
	}
	switch {
	case r.waiting > 0:
		r.current = r.ready[0]
		copy(r.ready[:], r.ready[1:])
		r.waiting--
		r.ready[r.waiting] = nil
	case r.lost != nil:
		return r.lost
	default:
		r.fetching = true
		r.mu.Unlock()
		err := r.fetch()
		r.mu.Lock()
		r.fetching = false
		r.changed.Broadcast()
		if err != nil {
			r.lose(err)
			if r.lost != nil {
				err = r.lost
			}
			return err
		}
		r.current = r.deliver()
	}
	if !r.fetching && r.isWorthwhile(r.current) {
		r.fetching = true
		go r.helper()
	}
	return nil
}
