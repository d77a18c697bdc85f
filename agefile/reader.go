package agefile

import (
	"bufio"
	"errors"
	"io"
	"sync/atomic"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"

	"culvert/internal/ordered"
)

var (
	errReaderClosed = errors.New("agefile: reader is closed")
	errCount        = errors.New("agefile: a Read or Write has returned an impossible count")
)

// maxEmptyReads is how many reads in a row may return neither bytes nor an error, as in package bufio.
const maxEmptyReads = 100

// Reader decrypts a file from a stream. It is for one goroutine at a time; reading ahead from src and opening go on in
// others, until the end of the file, an error, or Close. It is made by [NewReader].
type Reader struct {
	config  Config
	src     *source
	head    *bufio.Reader // reads src, and has what came with the header
	spans   []*span
	queue   *ordered.Queue[*span] // nil for a payload of less than a span
	item    *ordered.Item[*span]  // the item of cur, when there is a queue
	cur     *span                 // nil before the first Read
	unread  []byte                // of cur's plaintext
	fetched chan struct{}         // closed when fetch has returned
	err     error                 // sticky
}

// NewReader reads the header of an age file from src, finds the identity that opens it, and returns a Reader of its
// content, with as many workers as there are cores. The error is an [*age.NoIdentityMatchError] if none does.
//
// The Reader reads ahead of what it returns, and reads src to its end: an age file has no length, so that src must not
// go on after it. An [*os.File], [*io.SectionReader], [*bytes.Reader] or [*strings.Reader] is read by several
// goroutines at once, with ReadAt; so is a src of another type if [Config.ReadAt] permits it. A caller that stops
// before the end or an error must call [Reader.Close].
func NewReader(src io.Reader, identities ...age.Identity) (*Reader, error) {
	return Config{}.NewReader(src, identities...)
}

// NewReader is [NewReader] with a configuration.
func (c Config) NewReader(src io.Reader, identities ...age.Identity) (*Reader, error) {
	s := &source{raw: src}
	head := bufio.NewReader(s)
	key, _, err := openHeader(head, identities)
	if err != nil {
		return nil, err
	}
	return c.newPayloadReader(s, head, key)
}

// newPayloadReader returns a Reader of the payload that begins where head stands.
func (c Config) newPayloadReader(src *source, head *bufio.Reader, key []byte) (*Reader, error) {
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	c.Workers = c.workers()
	return &Reader{config: c, src: src, head: head, spans: newSpans(aead, c.Workers)}, nil
}

// source is what a Reader reads from, until it is closed. A goroutine that fills a span calls Read many times if that
// returns little, and Close does not wait for it.
type source struct {
	raw    io.Reader
	empty  int // reads in a row that have returned nothing
	closed atomic.Bool
}

func (s *source) Read(p []byte) (int, error) {
	if s.closed.Load() {
		return 0, errReaderClosed
	}
	n, err := s.raw.Read(p)
	switch {
	case n < 0 || n > len(p):
		return 0, errCount
	case n > 0 || err != nil || len(p) == 0:
		s.empty = 0
	default:
		if s.empty++; s.empty >= maxEmptyReads {
			return 0, io.ErrNoProgress
		}
	}
	return n, err
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
		if n < 0 || n > len(r.unread) {
			n, err = 0, errCount
		}
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
// which may take for ever: one that has begun may end after Close has returned, and none follows it. Close is not
// needed after io.EOF or an error, and does no harm then.
func (r *Reader) Close() error {
	if r.err == nil {
		r.end(errReaderClosed)
	}
	return nil
}

// advance makes the next plaintext the unread one, or fails.
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

// fetch fills the spans after the first, or lets the workers do so.
func (c Config) fetch(queue *ordered.Queue[*span], src *source, head *bufio.Reader, done chan<- struct{}) {
	defer close(done)
	sec, ok := c.sectionOf(src.raw, head.Buffered())
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
