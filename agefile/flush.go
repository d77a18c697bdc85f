package agefile

import (
	"errors"
	"fmt"
	"io"
	"math"

	"culvert/internal/strictio"
)

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

// writeSpan writes a sealed span, if it is the next one.
func (w *Writer) writeSpan(s *span) error {
	if err := w.written.add(s); err != nil {
		return err
	}
	_, err := strictio.Write(w.dst, s.sealed())
	return err
}

// sequence checks the rules that the format's safety depends on: under one key, chunks are numbered from 0, each number
// is used once, all chunks except the last are full, and only the last is marked as last. The rest of the package
// ensures that. A fault there would reveal plaintext, since two chunks with the same number share a key stream, so
// sequence checks each span before it is written.
type sequence struct {
	next uint64 // number of the first chunk of the next span
	done bool   // the last span was written
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
