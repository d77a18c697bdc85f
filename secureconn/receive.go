package secureconn

import (
	"io"
	"net"
	"sync"
	"sync/atomic"

	"culvert/bytebuf"
)

const (
	idleBatch  = 8 << 10            // to wait in for what may never come
	bulkBatch  = recordSize + 8<<10 // for many small records
	ahead      = 3                  // batches that may wait to be opened
	minAhead   = 32 << 10           // bytes that have come at once, and make it worth to read ahead
	minAligned = 128 << 10          // record that is read to its end and not beyond, so that nothing is moved
)

// batch is a buffer with records as they came. Those up to whole are complete; behind them may be a part of one.
type batch struct {
	memory  bytebuf.Buffer
	buf     []byte
	next    int  // where the records begin that are not opened yet
	whole   int  // where the complete ones end
	end     int  // of what has come
	last    bool // nothing has to be read behind it
	exposed bool // plaintext was put here
}

// receiver is the incoming half of a connection.
//
// Batches are filled by one fetcher at a time, the caller of Read or a helper, and opened by one caller at a time. The
// fetcher owns the batch partial; the caller owns current, and goes on with those in ready. If more than one record has
// come, the opener opens one of them beside the caller, who waits for it before it returns.
type receiver struct {
	conn     net.Conn
	fail     func(error)  // ends the other direction too
	isClosed *atomic.Bool // of the Conn
	arrived  atomic.Int64 // bytes that the network has brought

	reading sync.Mutex // guards what is below, up to mu
	in      direction
	rest    []byte // opened and not yet handed out, in current
	current *batch
	failure error // sticky, of what was opened

	second   work           // of the opener
	opening  *batch         // which has that record, or nil
	openedAt int            // where its plaintext begins in the slice of the caller
	openErr  error          // of the opener
	beside   sync.WaitGroup // for the opener

	mu       sync.Mutex
	changed  sync.Cond
	partial  *batch // nil if nothing has come behind the last record
	ready    [ahead]*batch
	waiting  int // in ready
	spare    []*batch
	fetching bool
	lost     error // sticky, of the network connection
	ended    bool  // CLOSE has come

	helper func() // readAhead
	opener func() // opens second
}

func (r *receiver) init(conn net.Conn, fail func(error), isClosed *atomic.Bool) {
	r.conn, r.fail, r.isClosed = conn, fail, isClosed
	r.changed.L = &r.mu
	r.helper = r.readAhead
	r.opener = func() {
		r.openErr = r.second.open()
		r.beside.Done()
	}
}

// obtain gives an empty batch with room for n bytes, with mu.
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

// release takes a batch back, with mu. Others may get its memory, so no plaintext stays there.
func (r *receiver) release(b *batch) {
	if b.exposed {
		clear(b.buf[:b.end])
		b.exposed = false
	}
	b.memory.Free()
	b.buf = nil
	r.spare = append(r.spare, b)
}

// fetch reads until partial has a complete record, or one that is malformed. It is called by whoever has set fetching,
// without mu. After a deadline it may be called again.
func (r *receiver) fetch() error {
	for empty := 0; ; {
		r.mu.Lock()
		b, limit := r.prepare()
		r.mu.Unlock()
		if limit == 0 {
			return nil
		}
		n, err := r.conn.Read(b.buf[b.end:limit])
		switch {
		case n < 0 || n > limit-b.end:
			return errCount
		case n > 0:
			empty = 0
		case err != nil:
			return err
		default:
			if empty++; empty == maxEmptyReads {
				return io.ErrNoProgress
			}
		}
		r.arrived.Add(int64(n))
		b.end += n
	}
}

// prepare makes room in partial for the next Read, which may go up to limit, with mu. The limit is 0 if nothing has to
// be read.
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
	// With a large record comes the header of the next one, but nothing that would have to be moved.
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

// deliver takes the complete records from the fetcher, with mu. What has come behind them is moved to a new partial.
func (r *receiver) deliver() *batch {
	b := r.partial
	r.partial = nil
	need := 0
	for b.end-b.whole >= headerSize {
		n, err := recordLen(b.buf[b.whole:])
		if err != nil {
			// The opener finds it too, and nothing behind it counts.
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

// readAhead is the helper. It fetches until it would wait for a record that may never come, or all places are full.
func (r *receiver) readAhead() {
	for {
		err := r.fetch()
		r.mu.Lock()
		if err != nil {
			// What a deadline has ended is taken up by the next Read, if there is one.
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

// isWorthwhile reports whether to read ahead when b has come: more of its size may well be on the way. With mu.
func (r *receiver) isWorthwhile(b *batch) bool { return b.end >= minAhead && !b.last && r.lost == nil }

// lose makes an error of the network connection sticky, with mu, unless it is a deadline.
func (r *receiver) lose(err error) {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if !isTimeout(err) {
		r.lost = err
	}
}

// advance makes current a batch with a complete record, and has the helper read what comes next.
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
