package agefile

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"

	"culvert/internal/ordered"
)

var (
	errClosed  = errors.New("agefile: writer is closed")
	errAborted = errors.New("agefile: writer has been aborted")
	errNotMade = errors.New("agefile: a zero Writer, Reader or ReaderAt, which was not made by this package")
)

// Writer encrypts what is written to it. It is for one goroutine at a time; sealing, and writing to dst, go on in
// others until Close. It is made by [NewWriter], and writes one file: its key seals the chunks of no other file.
type Writer struct {
	config  Config
	dst     io.Writer
	spans   []*span
	queue   *ordered.Queue[*span] // nil until the first span is full
	item    *ordered.Item[*span]  // the item of cur, when there is a queue
	full    *ordered.Item[*span]  // the one before, held as long as it may be the last
	cur     *span                 // being filled
	next    uint64                // number of the chunk that begins the next span
	written sequence              // of the spans that were written
	flushed chan struct{}         // closed when flush has returned
	failed  atomic.Pointer[error] // the first error of dst, or of a source
	lent    atomic.Int64          // spans whose input the workers have yet to take from its owner
	settled chan struct{}         // says that there are none
	err     error                 // sticky
}

// NewWriter writes the header of a new age file for the recipients to dst and returns a Writer for its content, with as
// many workers as there are cores. The caller must call [Writer.Close], or [Writer.Abort]; else goroutines stay
// behind.
func NewWriter(dst io.Writer, recipients ...age.Recipient) (*Writer, error) {
	return Config{}.NewWriter(dst, recipients...)
}

// NewWriter is [NewWriter] with a configuration.
func (c Config) NewWriter(dst io.Writer, recipients ...age.Recipient) (*Writer, error) {
	header, key, err := sealHeader(recipients)
	if err != nil {
		return nil, err
	}
	w, err := c.newPayloadWriter(dst, key)
	if err != nil {
		return nil, err
	}
	if err := write(dst, header); err != nil {
		return nil, err
	}
	return w, nil
}

// newPayloadWriter returns a Writer for the payload under a key that no other payload has.
func (c Config) newPayloadWriter(dst io.Writer, key []byte) (*Writer, error) {
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	c.Workers = c.workers()
	w := &Writer{config: c, dst: dst, spans: newSpans(aead, c.Workers)}
	w.begin(w.spans[0])
	return w, nil
}

// newSpans makes the memory of a writer or reader: for each worker one span in its hands, and one on the way.
func newSpans(aead cipher.AEAD, workers int) []*span {
	spans := make([]*span, 2*workers)
	for i := range spans {
		spans[i] = &span{aead: aead}
	}
	return spans
}

// begin makes s the span to be filled.
func (w *Writer) begin(s *span) {
	s.n, s.first, s.last, s.readErr = 0, w.next, false, nil
	w.next += spanChunks
	w.cur = s
}

// Write encrypts p, which is not used after it returns. An error of dst may be reported by a later Write or by Close;
// once there is one, nothing more is written.
func (w *Writer) Write(p []byte) (int, error) {
	rest, err := p, w.check()
	if len(p) >= 2*w.config.Workers*spanPlain && err == nil {
		rest, err = w.lend(p) // waiting for the workers pays only for much
	}
	for len(rest) > 0 && err == nil {
		var space []byte
		if space, err = w.space(len(rest)); err == nil {
			n := copy(space, rest)
			w.filled(n)
			rest = rest[n:]
		}
	}
	if settleErr := w.settle(); err == nil {
		err = settleErr
	}
	return len(p) - len(rest), err
}

// ReadFrom encrypts all of src, which is read straight into the buffers that are sealed. An [*os.File],
// [*io.SectionReader], [*bytes.Reader] or [*strings.Reader] is read by several goroutines at once, with ReadAt, and is
// left at its end; so is a src of another type if [Config.ReadAt] permits it.
//
// An error of src ends the file, too: the rest of it is missing, so that only [Writer.Abort] is left.
func (w *Writer) ReadFrom(src io.Reader) (int64, error) {
	total, err := int64(0), w.check()
	if err == nil {
		if sec, ok := w.config.sectionOf(src, 0); ok {
			total, err = w.readSection(&sec)
		}
	}
	if err == nil {
		var n int64
		n, err = w.readStream(src)
		total += n
	}
	if settleErr := w.settle(); err == nil {
		err = settleErr
	}
	if w.err == nil {
		w.err = err
	}
	return total, err
}

func (w *Writer) readStream(src io.Reader) (int64, error) {
	var total int64
	for empty := 0; ; {
		space, err := w.space(spanPlain)
		if err != nil {
			return total, err
		}
		n, err := src.Read(space)
		if n < 0 || n > len(space) {
			panic("agefile: reader returned an impossible count")
		}
		w.filled(n)
		total += int64(n)
		if err == io.EOF {
			return total, nil
		} else if err != nil {
			return total, err
		}
		if n > 0 {
			empty = 0
		} else if empty++; empty == maxEmptyReads {
			return total, io.ErrNoProgress
		}
	}
}

// space gives room for up to want bytes in the current span, never none.
func (w *Writer) space(want int) ([]byte, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	if w.cur.n == spanPlain {
		if err := w.advance(); err != nil {
			return nil, err
		}
	}
	size := min(w.cur.n+want, spanPlain)
	return w.cur.input(size)[w.cur.n:], nil
}

// filled says that n bytes of the space have been used.
func (w *Writer) filled(n int) {
	w.cur.n += n
	if n > 0 && w.full != nil {
		w.queue.Put(w.full)
		w.full = nil
	}
}

// check returns the sticky error, or takes it over from flush.
func (w *Writer) check() error {
	if w.spans == nil {
		return errNotMade
	}
	if w.err == nil {
		if err := w.failed.Load(); err != nil {
			w.err = *err
		}
	}
	return w.err
}

// advance begins the next span after a full one.
func (w *Writer) advance() error {
	if w.queue == nil {
		w.queue = ordered.New(w.spans, w.config.Workers, w.work)
		w.settled = make(chan struct{}, 1)
		w.item = w.queue.Get() // the first span, which is the current one
		w.flushed = make(chan struct{})
		go w.flush()
	}
	next := w.queue.Get()
	if next == nil {
		return w.check()
	}
	w.full, w.item = w.item, next
	w.begin(next.Value)
	return nil
}

// flush writes the sealed spans to dst, in order.
func (w *Writer) flush() {
	defer close(w.flushed)
	for {
		item := w.queue.Next()
		if item == nil {
			return
		}
		err := item.Value.readErr
		if err == io.EOF {
			err = fmt.Errorf("agefile: source has become shorter: %w", io.ErrUnexpectedEOF)
		} else if err == nil {
			err = w.writeSpan(item.Value)
		}
		if err != nil {
			failed := err // err itself would escape, once a span
			w.failed.Store(&failed)
			w.queue.Stop()
			return
		}
		w.queue.Free(item)
	}
}

// writeSpan writes a sealed span, if it is the one that comes next.
func (w *Writer) writeSpan(s *span) error {
	if err := w.written.add(s); err != nil {
		return err
	}
	return write(w.dst, s.sealed())
}

// sequence checks what the safety of the format rests on: the chunks under a key have the numbers from 0 on, each once,
// all except the last are full, and only the last is marked as such. The code around it ensures that. But a fault in
// that code would give away plaintext, since two chunks with the same number have the same key stream. So sequence
// checks it before anything is written.
type sequence struct {
	next uint64 // number of the first chunk of the next span
	done bool   // the last one was written
}

func (q *sequence) add(s *span) error {
	switch {
	case q.done:
		return errors.New("agefile: internal error: a chunk after the last one")
	case s.first != q.next || q.next > math.MaxUint64-spanChunks:
		return fmt.Errorf("agefile: internal error: chunk %d in place of chunk %d", s.first, q.next)
	case s.n > spanPlain || s.n < spanPlain && !s.last:
		return fmt.Errorf("agefile: internal error: %d bytes in a span", s.n)
	}
	q.next, q.done = q.next+spanChunks, s.last
	return nil
}

func write(dst io.Writer, p []byte) error {
	n, err := dst.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}

// Close seals and writes what is left, and the mark of the end. It does not close dst. The file is complete only if
// Close returns nil. A second Close, as a Write after it, returns an error.
func (w *Writer) Close() error {
	if err := w.check(); err == nil {
		w.err = w.finish()
	}
	if w.queue != nil {
		w.queue.Finish()
	}
	w.end()
	if err := w.check(); err != nil {
		return err
	}
	w.err = errClosed
	return nil
}

// Abort ends the goroutines without completing the file: every reader will find it cut short. It is for those who
// cannot write the rest. After Close it does nothing.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = errAborted
	}
	if w.queue != nil {
		w.queue.Stop()
	}
	w.end()
}

// end waits for the goroutines, which have been told to end, and frees the memory.
func (w *Writer) end() {
	if w.queue != nil {
		<-w.flushed
		w.queue.Wait()
		w.queue = nil
	}
	for _, s := range w.spans {
		s.free()
	}
}

// finish hands over the last span.
func (w *Writer) finish() error {
	if w.queue == nil {
		w.cur.last = true
		w.cur.seal()
		return w.writeSpan(w.cur)
	}
	last := w.item
	if w.full != nil && w.cur.n == 0 {
		last = w.full
	} else if w.full != nil {
		w.queue.Put(w.full)
	}
	last.Value.last = true
	w.queue.Put(last)
	return nil
}
