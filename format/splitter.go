package format

import (
	"bytes"
	"fmt"
	"io"
)

// maxRow is the largest row unless the caller says otherwise: PostgreSQL has no larger ones.
const maxRow = 1 << 30

// Splitter cuts a stream of text into blocks of whole rows, which several goroutines can decode, or pass on as they
// are:
//
//	s := format.NewSplitter(file, format.CSV{}, 0)
//	for {
//		block, rows, err := s.Next(<-idle)
//		…
//	}
//
// It decodes nothing, and copies only the beginning of a row at the end of a block. A byte order mark at the beginning
// of the stream is left out.
type Splitter struct {
	r      io.Reader
	cutter interface {
		Cut(text []byte) (n, rows int)
	}
	maxRow int
	rest   []byte // read, and not yet returned
	begun  bool
	crlf   bool // the last row ended in CR LF
	ended  bool
	rows   int64 // returned
	err    error
}

// NewSplitter returns a Splitter that reads from r. Next fails if a row fits neither in its buffer nor in largestRow
// bytes; 0 means 1 GiB. A quote that is not closed takes as much memory before it is found.
func NewSplitter(r io.Reader, f Readable, largestRow int) *Splitter {
	if largestRow <= 0 {
		largestRow = maxRow
	}
	return &Splitter{r: r, cutter: f, maxRow: largestRow}
}

// Next reads the next whole rows into the memory of buf, about as many as its capacity holds, and at least one. Each
// ends in a line feed. If that is missing at the end of the stream, it is added, after a carriage return if the row
// before has one, since readers of CSV want all rows to end alike. Next returns a slice of buf, or a larger one for a
// large row, which is the caller's to use again, and the number of rows in it, or of lines if lines may be blank.
//
// The error is io.EOF at the end, a [*RowError] if the stream ends within quotes or a row is too large, and else that
// of the reader. It stays the same.
func (s *Splitter) Next(buf []byte) (block []byte, rows int, err error) {
	if s.err == nil {
		block, rows, s.err = s.next(buf)
	}
	if s.err != nil {
		return buf[:0], 0, s.err
	}
	s.rows += int64(rows)
	return block, rows, nil
}

func (s *Splitter) next(buf []byte) ([]byte, int, error) {
	const least = 4 << 10
	size := max(cap(buf), least, len(s.rest))
	text := s.first(buf, size)
	for {
		var err error
		if text, err = s.fill(text, size); err != nil {
			return nil, 0, err
		}
		n, rows := s.cutter.Cut(text)
		if n > 0 {
			s.crlf = bytes.HasSuffix(text[:n], []byte("\r\n"))
		}
		if s.ended && n < len(text) {
			if s.crlf && text[len(text)-1] != '\r' {
				text = append(text, '\r')
			}
			text = append(text, '\n')
			if n, rows = s.cutter.Cut(text); n < len(text) {
				return nil, 0, s.failed(rows, "a quote is not closed")
			}
		}
		if n > 0 {
			s.keep(text[n:])
			return text[:n], rows, nil
		}
		if s.ended {
			return nil, 0, io.EOF
		}
		if size >= s.maxRow {
			return nil, 0, s.failed(0, fmt.Sprintf("it has more than %d bytes; is a quote not closed?", s.maxRow))
		}
		size = min(larger(size), s.maxRow)
	}
}

// larger returns the size of the memory for a row that does not fit into another one. What is read after the row is
// kept, too, so a row of many megabytes does not double the memory.
func larger(size int) int {
	const doubled = 8 << 20
	if size < doubled {
		return 2 * size
	}
	return size + size/2
}

// keep takes what follows the rows that are returned. It does not stay in the memory that is returned.
func (s *Splitter) keep(text []byte) {
	const most = 4 << 20 // of memory that is kept after a large row
	if cap(s.rest) > most && len(text) < most {
		s.rest = nil
	}
	s.rest = append(s.rest[:0], text...)
}

// first returns the rest in memory for size bytes.
func (s *Splitter) first(buf []byte, size int) []byte {
	if cap(buf) < size {
		buf = make([]byte, 0, size)
	}
	return buf[:copy(buf[:size], s.rest)]
}

// fill returns a text and what follows it, up to size bytes.
func (s *Splitter) fill(text []byte, size int) ([]byte, error) {
	if cap(text) < size {
		text = append(make([]byte, 0, size), text...)
	}
	// Not io.ReadFull: an error of the reader may be io.ErrUnexpectedEOF itself, since its own source is cut.
	for empty := 0; len(text) < size && !s.ended; {
		n, err := s.r.Read(text[len(text):size])
		text = text[:len(text)+n]
		switch {
		case err == io.EOF:
			s.ended = true
		case err != nil:
			return nil, err
		case n > 0:
			empty = 0
		default:
			if empty++; empty == 100 {
				return nil, io.ErrNoProgress
			}
		}
	}
	if !s.begun {
		s.begun = true
		if after, found := bytes.CutPrefix(text, []byte("\ufeff")); found {
			text = append(text[:0], after...)
		}
	}
	return text, nil
}

func (s *Splitter) failed(rows int, reason string) error {
	return &RowError{Row: s.rows + int64(rows) + 1, Reason: reason}
}
