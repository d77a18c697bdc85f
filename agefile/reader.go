package agefile

import (
	"bufio"
	"errors"
	"io"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"

	"culvert/internal/ordered"
)

var errReaderClosed = errors.New("agefile: reader is closed")

// Reader decrypts a file from a stream. It is for one goroutine at a time; reading ahead from src and opening go on in
// others, until the end of the file, an error, or Close.
type Reader struct {
	workers int
	raw     io.Reader
	src     *bufio.Reader // reads raw
	spans   []*span
	queue   *ordered.Queue[*span] // nil for a payload of less than a span
	item    *ordered.Item[*span]  // the item of cur, when there is a queue
	cur     *span                 // nil before the first Read
	unread  []byte                // of cur's plaintext
	fetched chan struct{}         // closed when fetch has returned
	err     error                 // sticky
}

// NewReader reads the header of an age file from src, finds the identity that opens it, and gives a Reader of its
// content, with as many workers as there are cores. The error is an [*age.NoIdentityMatchError] if none does.
//
// The Reader reads ahead of what it returns, and reads src to its end: an age file has no length, so that src must
// not go on after it. A src that is an io.Seeker and an io.ReaderAt, such as a file, is read by several goroutines at
// once, with ReadAt. A caller that stops before the end or an error must call [Reader.Close].
func NewReader(src io.Reader, identities ...age.Identity) (*Reader, error) {
	return Config{}.NewReader(src, identities...)
}

// NewReader is [NewReader] with a configuration.
func (c Config) NewReader(src io.Reader, identities ...age.Identity) (*Reader, error) {
	r := &Reader{workers: c.workers()}
	if err := r.Reset(src, identities...); err != nil {
		return nil, err
	}
	return r, nil
}

// Reset begins to read another file, as NewReader does. It closes the last one.
func (r *Reader) Reset(src io.Reader, identities ...age.Identity) error {
	r.end(errReaderClosed)
	br := bufio.NewReader(src)
	key, _, err := openHeader(br, identities)
	if err != nil {
		return err
	}
	return r.resetPayload(src, br, key)
}

// resetPayload begins to read a payload under the given key.
func (r *Reader) resetPayload(raw io.Reader, src *bufio.Reader, key []byte) error {
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return err
	}
	spans := newSpans(r.workers)
	for _, s := range spans {
		s.aead = aead
	}
	*r = Reader{workers: r.workers, raw: raw, src: src, spans: spans}
	return nil
}

// Read reads plaintext, in order, all of it authenticated. At the end of the file it returns io.EOF, which a truncated
// or damaged file never reaches: there the error wraps [ErrCorrupt].
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.unread) == 0 {
		if err := r.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

// WriteTo writes the rest of the plaintext to dst, about 1 MiB at a time. The memory is used again as soon as dst.Write
// has returned.
func (r *Reader) WriteTo(dst io.Writer) (int64, error) {
	var total int64
	for {
		if len(r.unread) == 0 {
			if err := r.advance(); err == io.EOF {
				return total, nil
			} else if err != nil {
				return total, err
			}
		}
		n, err := dst.Write(r.unread)
		total += int64(n)
		r.unread = r.unread[n:]
		if err == nil && len(r.unread) > 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return total, err
		}
	}
}

// Close stops reading. It does not close src. It waits for a ReadAt of src that is under way, but not for a Read,
// which may take for ever. It is not needed after io.EOF or an error, and does no harm then.
func (r *Reader) Close() error {
	if r.err == nil {
		r.end(errReaderClosed)
	}
	return nil
}

// advance makes the next plaintext the unread one, or fails.
func (r *Reader) advance() error {
	for r.err == nil {
		final := false
		if r.cur != nil {
			if err := r.cur.after(); err != nil {
				return r.fail(err)
			}
			final = r.cur.final
		}
		r.next()
		if final {
			// The last span was full, so that only this one shows whether something follows the last chunk.
			if r.cur.n > 0 {
				return r.fail(errTrailing)
			}
			return r.fail(r.cur.readErr)
		}
		if r.unread = r.cur.plaintext(); len(r.unread) > 0 {
			return nil
		}
	}
	return r.err
}

// next makes the next span the current one. It is not called after a span that the input ends in.
func (r *Reader) next() {
	if r.cur == nil {
		s := r.spans[0]
		s.first = 0
		s.fill(r.src)
		if s.readErr != nil {
			s.open()
			r.cur = s
			return
		}
		r.queue = ordered.New(r.spans, r.workers, (*span).open)
		r.queue.Put(r.queue.Get()) // s
		r.fetched = make(chan struct{})
		go fetch(r.queue, r.raw, r.src, r.workers > 1, r.fetched)
	} else {
		r.queue.Free(r.item)
	}
	r.item = r.queue.Next()
	r.cur = r.item.Value
}

// fetch fills the spans after the first, or lets the workers do so.
func fetch(queue *ordered.Queue[*span], raw io.Reader, src *bufio.Reader, parallel bool, done chan<- struct{}) {
	defer close(done)
	sec, ok := section{}, false
	if parallel {
		sec, ok = sectionOf(raw, src.Buffered())
	}
	for first := uint64(spanChunks); ; first += spanChunks {
		item := queue.Get()
		if item == nil {
			return
		}
		s := item.Value
		s.first, s.readErr = first, nil
		s.n = spanSealed
		if !ok || !sec.take(s, spanSealed) {
			if ok {
				ok = false
				s.n, s.readErr = 0, sec.finish()
				src.Reset(raw)
			}
			if s.readErr == nil {
				s.fill(src)
			}
		}
		ended := s.at == nil && s.readErr != nil
		queue.Put(item)
		if ended {
			queue.Finish()
			return
		}
	}
}

// fail ends the Reader with err.
func (r *Reader) fail(err error) error {
	r.end(err)
	return err
}

// end makes err sticky, ends the goroutines, and frees the memory.
func (r *Reader) end(err error) {
	r.err = err
	r.unread = nil
	if r.queue != nil {
		r.queue.Stop()
		r.queue.Wait()
		r.queue = nil
		if err == io.EOF {
			<-r.fetched // the source has been read to its end
		}
		select {
		case <-r.fetched:
		default:
			// A Read of the source may still write to one of them: they are not freed.
			r.spans, r.cur, r.item = nil, nil, nil
		}
	}
	for _, s := range r.spans {
		s.free()
	}
}
