package secureconn

import (
	"io"
	"net"

	"culvert/internal/strictio"
)

// record returns the next complete record of current, still sealed, or nil.
func (r *receiver) record() []byte {
	b := r.current
	if r.failure != nil || b == nil || b.next == b.whole {
		return nil
	}
	n, err := recordLen(b.buf[b.next:])
	if err != nil {
		r.end(err)
		return nil
	}
	return b.buf[b.next : b.next+n]
}

// end makes all later calls return err. If it is not the end of the stream, the other direction ends, too.
func (r *receiver) end(err error) {
	r.failure = err
	r.rest = nil
	if err != io.EOF {
		r.fail(err)
	}
}

// open opens the next record into dst if the plaintext fits, and otherwise in place.
func (r *receiver) open(record, dst []byte) (plaintext []byte, inPlace bool) {
	n := len(record) - overhead
	if inPlace = n > len(dst); inPlace {
		dst = record[headerSize:]
		r.current.exposed = true
	}
	k := kind(record[0])
	plaintext, err := r.in.open(dst[:0:n], record)
	r.current.next += len(record)
	switch {
	case err != nil:
		r.end(err)
		return nil, false
	case k == kindClose:
		r.mu.Lock()
		r.ended = true
		r.mu.Unlock()
		r.end(io.EOF)
	}
	return plaintext, inPlace
}

// read implements Read.
func (r *receiver) read(p []byte) (int, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	defer r.tidy()
	if r.isClosed.Load() {
		return 0, net.ErrClosed // while another call was reading
	}
	filled, err := r.fill(p)
	n := r.join(filled)
	clear(p[n:filled]) // a record before it was not authentic
	if n > 0 {
		return n, nil
	}
	if r.failure != nil {
		err = r.failure
	}
	return 0, err
}

// fill waits for one record, and opens into p those that have arrived and fit. It leaves one of them to the opener.
func (r *receiver) fill(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.rest) > 0 {
			n = copy(p, r.rest)
			r.rest = r.rest[n:]
			return n, nil
		}
		record := r.record()
		switch {
		case r.failure != nil:
			return n, r.failure
		case record == nil:
			if n > 0 && !r.isReady() {
				return n, nil
			}
			if err := r.advance(); err != nil {
				return n, err
			}
			continue
		}
		size := len(record) - overhead
		if n > 0 && size > len(p)-n {
			return n, nil
		}
		if r.opening == nil && size >= minBeside && 2*size <= len(p)-n && r.hasNext(record) {
			n += r.openBeside(record, p[n:], n)
			continue
		}
		if kind(record[0]) != kindData {
			if n = r.join(n); r.failure != nil {
				continue
			}
		}
		plaintext, inPlace := r.open(record, p[n:])
		if inPlace {
			r.rest = plaintext
			continue
		}
		n += len(plaintext)
	}
	return n, nil
}

// hasNext reports whether another record has arrived after one of current.
func (r *receiver) hasNext(record []byte) bool {
	return r.current.next+len(record) < r.current.whole || r.isReady()
}

// isReady reports whether another batch has arrived.
func (r *receiver) isReady() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting > 0
}

// openBeside starts the opener with a DATA record of current, and returns the length of its plaintext. dst is the
// caller's slice from at on.
func (r *receiver) openBeside(record, dst []byte, at int) int {
	if err := r.in.expect(&r.second, dst[:0], record); err != nil {
		r.end(err)
		return 0
	}
	r.current.next += len(record)
	r.opening, r.openedAt = r.current, at
	r.beside.Add(1)
	go r.opener()
	return len(record) - overhead
}

// join waits for the opener, if it is running. It returns how many of n bytes are authentic: all, or those before the
// opener's record if that does not open.
func (r *receiver) join(n int) int {
	if r.opening == nil {
		return n
	}
	r.beside.Wait()
	if r.opening != r.current {
		r.mu.Lock()
		r.release(r.opening)
		r.mu.Unlock()
	}
	r.opening = nil
	if r.openErr != nil {
		r.in.forget()
		r.end(r.openErr)
		return r.openedAt
	}
	return n
}

// writeTo implements WriteTo.
func (r *receiver) writeTo(w io.Writer) (n int64, err error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	defer r.tidy()
	for {
		if r.isClosed.Load() {
			return n, net.ErrClosed
		}
		if len(r.rest) > 0 {
			written, err := strictio.Write(w, r.rest)
			n += int64(written)
			r.rest = r.rest[written:]
			if err != nil {
				return n, err
			}
		}
		record := r.record()
		switch {
		case r.failure == io.EOF:
			return n, nil
		case r.failure != nil:
			return n, r.failure
		case record == nil:
			if err := r.advance(); err != nil {
				return n, err
			}
		default:
			r.rest, _ = r.open(record, nil)
		}
	}
}

// tidy releases current if nothing of it is left to return.
func (r *receiver) tidy() {
	b := r.current
	if b == nil || r.failure == nil && (len(r.rest) > 0 || b.next < b.whole) {
		return
	}
	if b == r.opening {
		r.current = nil // join releases it
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(b)
	r.current = nil
}

// hasEnded reports whether the peer has ended its direction.
func (r *receiver) hasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}
