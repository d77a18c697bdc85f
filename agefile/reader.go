package agefile

import (
	"bufio"
	"errors"
	"io"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"

	"culvert/internal/ordered"
	"culvert/internal/strictio"
)

var errReaderClosed = errors.New("agefile: reader is closed")

// Reader decrypts a file from a stream. Use [NewReader] to make one. A Reader must be used by one goroutine at a time.
// Its own goroutines read ahead and open chunks until the end of the file, an error, or Close.
type Reader struct {
	config  Config
	src     *source
	head    *bufio.Reader // reads src; holds bytes that were read with the header
	spans   []*span
	queue   *ordered.Queue[*span] // nil for a payload of less than a span
	item    *ordered.Item[*span]  // of cur, if there is a queue
	cur     *span                 // nil before the first Read
	unread  []byte                // rest of cur's plaintext
	fetched chan struct{}         // closed when fetch has returned
	err     error                 // sticky
}

// NewReader reads the header of an age file from src and returns a Reader of its content. It uses as many workers as
// there are cores. If no identity opens the file, the error is an [*age.NoIdentityMatchError].
//
// The Reader reads ahead, up to the end of src. An age file does not record its length, so nothing may follow it in
// src. An [*os.File], [*io.SectionReader], [*bytes.Reader] or [*strings.Reader] is read with ReadAt, by several
// goroutines at once; [Config.ReadAt] permits this for other types. A caller that stops before the end or an error must
// call [Reader.Close].
func NewReader(src io.Reader, identities ...age.Identity) (*Reader, error) {
	return Config{}.NewReader(src, identities...)
}

// NewReader is [NewReader] with a configuration.
func (c Config) NewReader(src io.Reader, identities ...age.Identity) (*Reader, error) {
	s := newSource(src)
	head := bufio.NewReader(s)
	key, _, err := openHeader(head, identities)
	if err != nil {
		return nil, err
	}
	return c.newPayloadReader(s, head, key)
}

// newPayloadReader returns a Reader of the payload that follows in head.
func (c Config) newPayloadReader(src *source, head *bufio.Reader, key []byte) (*Reader, error) {
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	c.Workers = c.workers()
	return &Reader{config: c, src: src, head: head, spans: newSpans(aead, c.Workers)}, nil
}

// Read reads authenticated plaintext, in order. It returns io.EOF only at the end of a complete file. If the file is
// truncated or damaged, the error wraps [ErrCorrupt].
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

// WriteTo writes the rest of the plaintext to dst, about 1 MiB at a time. Dst must not retain the slices.
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
		n, err := strictio.Write(dst, r.unread)
		total += int64(n)
		r.unread = r.unread[n:]
		if err != nil {
			return total, err
		}
	}
}

// Close stops reading and always returns nil. It does not close src. It waits for calls of ReadAt, but not for a Read,
// which might never return: one Read of src may end after Close has returned. After io.EOF or an error, Close is not
// needed.
func (r *Reader) Close() error {
	if r.err == nil {
		r.end(errReaderClosed)
	}
	return nil
}

// advance makes the next span's plaintext the unread one.
func (r *Reader) advance() error {
	if r.src == nil {
		return errNotMade
	}
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
			// The last span was full, so only this one shows whether anything follows it.
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

// next makes the next span the current one. It must not be called after the span in which the input ends.
func (r *Reader) next() {
	if r.cur == nil {
		s := r.spans[0]
		s.first = 0
		s.fill(r.head)
		if s.readErr != nil {
			s.open()
			r.cur = s
			return
		}
		r.queue = ordered.New(r.spans, r.config.Workers, (*span).open)
		r.queue.Put(r.queue.Get()) // s
		r.fetched = make(chan struct{})
		go r.config.fetch(r.queue, r.src, r.head, r.fetched)
	} else {
		r.queue.Free(r.item)
	}
	r.item = r.queue.Next()
	r.cur = r.item.Value
}

// fetch fills the spans after the first, or has the workers fill them.
func (c Config) fetch(queue *ordered.Queue[*span], src *source, head *bufio.Reader, done chan<- struct{}) {
	defer close(done)
	sec, ok := c.sectionOf(src.R, head.Buffered())
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
				head.Reset(src)
			}
			if s.readErr == nil {
				s.fill(head)
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
	if r.src != nil {
		r.src.closed.Store(true)
	}
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
