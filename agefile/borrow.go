package agefile

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"strings"
)

// Copying costs little beside the cipher, a twentieth on one core. But on several it is the one thing that they
// cannot share, and holds four of them to half of what they could seal. So a Writer does not copy a large p, but lets
// the workers seal from it and waits for them; and a source that can be read at any offset, such as a file, is read
// by the workers, not before them.

const (
	spanPlain  = spanChunks * chunkSize
	spanSealed = spanChunks * sealedChunkSize
)

// section is what is left of a source that can be read at any offset.
type section struct {
	file     readSeekerAt
	off, end int64
}

type readSeekerAt interface {
	io.ReadSeeker
	io.ReaderAt
}

// isPlain reports whether the ReadAt of a source is known to return the bytes that its Read returns. It is for a few
// types. A type that embeds one of them has its ReadAt too, but may have a Read of its own: a filter, a limit, a count.
func isPlain(src io.Reader) bool {
	switch src.(type) {
	case *os.File, *io.SectionReader, *bytes.Reader, *strings.Reader:
		return true
	}
	// In io.Copy a file wraps itself, to hide its WriteTo. No other package has the path of package os.
	return reflect.TypeOf(src).PkgPath() == "os"
}

// sectionOf returns the section of src that begins back bytes before its current offset. It returns false if src has
// none, like a pipe, or if only its Read may be called. Sources without a size, such as devices, have an empty section.
func (c Config) sectionOf(src io.Reader, back int) (section, bool) {
	file, ok := src.(readSeekerAt)
	if !ok || c.Workers < 2 || !c.ReadAt && !isPlain(src) {
		return section{}, false
	}
	off, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return section{}, false
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return section{}, false
	}
	if _, err := file.Seek(off, io.SeekStart); err != nil {
		return section{}, false
	}
	return section{file, off - int64(back), end}, true
}

// take cuts off so many bytes for a span, but never the last ones: it is left to a Read to see where the source ends.
func (sec *section) take(s *span, size int) bool {
	if sec.end-sec.off <= int64(size) {
		return false
	}
	s.at, s.off = sec.file, sec.off
	sec.off += int64(size)
	return true
}

// finish sets the offset of the source to that of the section.
func (sec *section) finish() error {
	_, err := sec.file.Seek(sec.off, io.SeekStart)
	return err
}

// load reads all of the input that is still to be read.
func (s *span) load() {
	for in := 0; in < s.n; in += chunkSize {
		part := (*scratch)(s.input(in + sealedChunkSize)[in:])
		s.chunk(in, chunkSize, part)
	}
	s.at = nil
}

// lend hands whole spans of p to the workers and gives the rest, which is not empty. The caller must call settle before
// it returns p to its owner.
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

// readSection hands whole spans of a section to the workers, which read them, and leaves the rest.
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

// settle waits until the workers are done with everything that was lent.
func (w *Writer) settle() error {
	if w.full != nil && w.full.Value.at != nil {
		// Nothing came after it, so it is still held.
		w.full.Value.load()
		w.returned()
	}
	for w.lent.Load() > 0 {
		select {
		case <-w.settled:
		case <-w.flushed: // failed, and what was not begun never will be
			w.queue.Wait()
			w.lent.Store(0)
		}
	}
	return w.check()
}

// returned counts down what is lent.
func (w *Writer) returned() {
	if w.lent.Add(-1) == 0 {
		select {
		case w.settled <- struct{}{}:
		default:
		}
	}
}

// work is what the workers of a Writer do.
func (w *Writer) work(s *span) {
	lent := s.lent != nil || s.at != nil
	s.seal()
	if lent {
		w.returned()
	}
}
