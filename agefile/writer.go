package agefile

import (
	"crypto/cipher"
	"errors"
	"io"
	"sync/atomic"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"

	"culvert/internal/ordered"
	"culvert/internal/strictio"
)

var (
	errClosed  = errors.New("agefile: writer is closed")
	errAborted = errors.New("agefile: writer has been aborted")
	errNotMade = errors.New("agefile: use of a zero Writer, Reader or ReaderAt")
)

// Writer encrypts what is written to it into one file. Use [NewWriter] to make one. A Writer must be used by one
// goroutine at a time. Its own goroutines seal chunks and write to dst until Close.
type Writer struct {
	config  Config
	dst     io.Writer
	spans   []*span
	queue   *ordered.Queue[*span] // nil until the first span is full
	item    *ordered.Item[*span]  // of cur, if there is a queue
	full    *ordered.Item[*span]  // the span before cur, held while it may be the last
	cur     *span                 // being filled
	next    uint64                // number of the first chunk of the next span
	written sequence              // of the spans that were written
	flushed chan struct{}         // closed when flush has returned
	failed  atomic.Pointer[error] // the first error of dst, or of a source
	lent    atomic.Int64          // spans whose input still belongs to a caller or a source
	settled chan struct{}         // receives when lent becomes 0
	err     error                 // sticky
}

// NewWriter writes the header of a new age file to dst and returns a Writer for its content. It uses as many workers as
// there are cores. The caller must call [Writer.Close] or [Writer.Abort], or else goroutines leak.
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
	if _, err := strictio.Write(dst, header); err != nil {
		return nil, err
	}
	return w, nil
}

// newPayloadWriter returns a Writer for the only payload under key.
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

// newSpans returns two spans for each worker: one that it works on and one in transit.
func newSpans(aead cipher.AEAD, workers int) []*span {
	spans := make([]*span, 2*workers)
	for i := range spans {
		spans[i] = &span{aead: aead}
	}
	return spans
}

// Write encrypts p and does not retain it. An error of dst may be returned by a later Write or by Close. After an
// error, nothing more is written.
func (w *Writer) Write(p []byte) (int, error) {
	rest, err := p, w.check()
	if len(p) >= 2*w.config.Workers*spanPlain && err == nil {
		rest, err = w.lend(p) // waiting for the workers pays off only for much data
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

// ReadFrom encrypts all of src without copying it. An [*os.File], [*io.SectionReader], [*bytes.Reader] or
// [*strings.Reader] is read with ReadAt, by several goroutines at once, and its offset ends at its end. [Config.ReadAt]
// permits this for other types.
//
// After an error of src the file cannot be completed: call [Writer.Abort].
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
	for in := (strictio.Reader{R: src}); ; {
		space, err := w.space(spanPlain)
		if err != nil {
			return total, err
		}
		n, err := in.Read(space)
		w.filled(n)
		total += int64(n)
		if err == io.EOF {
			return total, nil
		} else if err != nil {
			return total, err
		}
	}
}

// readSection assigns whole spans of a section to the workers, which read them, and leaves the rest.
func (w *Writer) readSection(sec *section) (int64, error) {
	start := sec.off
	for {
		if _, err := w.space(spanPlain); err != nil {
			return sec.off - start, err
		}
		if w.cur.n > 0 || !sec.take(w.cur, spanPlain) {
			break
		}
		w.lent.Add(1)
		w.filled(spanPlain)
	}
	return sec.off - start, sec.finish()
}

// lend has the workers seal whole spans straight from p, and returns the rest, which is not empty. The caller must call
// settle before it returns p to its owner.
func (w *Writer) lend(p []byte) (rest []byte, err error) {
	for len(p) > spanPlain {
		space, err := w.space(spanPlain)
		if err != nil {
			return p, err
		}
		n := spanPlain
		if w.cur.n == 0 {
			w.cur.lent = p[:n]
			w.lent.Add(1)
		} else {
			n = copy(space, p)
		}
		w.filled(n)
		p = p[n:]
	}
	return p, nil
}

// settle waits until the workers no longer use input that belongs to others.
func (w *Writer) settle() error {
	if w.full != nil && w.full.Value.at != nil {
		// Nothing came after it, so it is still held.
		w.full.Value.load()
		w.returned()
	}
	for w.lent.Load() > 0 {
		select {
		case <-w.settled:
		case <-w.flushed: // failed: spans that no worker has begun never will be
			w.queue.Wait()
			w.lent.Store(0)
		}
	}
	return w.check()
}

// returned counts down lent.
func (w *Writer) returned() {
	if w.lent.Add(-1) == 0 {
		select {
		case w.settled <- struct{}{}:
		default:
		}
	}
}

// work is what the workers do.
func (w *Writer) work(s *span) {
	lent := s.lent != nil || s.at != nil
	s.seal()
	if lent {
		w.returned()
	}
}

// space returns room for up to want bytes in the current span, and never none.
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

// filled reports that n bytes of the space have been filled.
func (w *Writer) filled(n int) {
	w.cur.n += n
	if n > 0 && w.full != nil {
		w.queue.Put(w.full)
		w.full = nil
	}
}

// begin makes s the span to be filled.
func (w *Writer) begin(s *span) {
	s.n, s.first, s.last, s.readErr = 0, w.next, false, nil
	w.next += spanChunks
	w.cur = s
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

// check returns the sticky error, which flush may have set.
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

// Close seals and writes the remaining data, and marks the end of the file. It does not close dst. The file is complete
// only if Close returns nil. Later calls of Close or Write return an error.
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

// Abort ends the goroutines without completing the file, for callers that cannot write the rest. Readers report such a
// file as truncated. After Close, Abort does nothing.
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

// finish seals the last span, or has it sealed.
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
