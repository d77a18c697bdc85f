package arrowread

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"culvert/format"
	"culvert/internal/compress"
	"culvert/source"
)

// stream reads messages from the beginning to the end. It is a [format.ColumnStream].
type stream struct {
	mu     sync.Mutex
	f      file // whose source are the messages that are in memory
	r      *bufio.Reader
	at     int64
	rows   int64 // of the messages so far
	isFile bool
	held   held
	kept   map[int64][]int64 // of the messages that are held, the dictionaries by id: where they begin
	size   int64             // of these
	err    error             // the first one
}

// OpenStream implements [format.Streamed]. A file is read like a stream too, since its messages follow each other. It
// reads the schema.
func (Format) OpenStream(r io.Reader) (format.ColumnStream, error) {
	s := &stream{r: bufio.NewReaderSize(r, usualMetadata), kept: map[int64][]int64{}}
	s.f = file{src: &s.held, largest: largestNested, zstd: compress.NewFrameDecoder(runtime.GOMAXPROCS(0))}
	s.f.known.of = map[*node]*dictionary{}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("arrowread: %w", err)
	}
	return s, nil
}

func (s *stream) open() error {
	head, err := s.r.Peek(magicSize)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte(feather)):
		return errFeather
	case bytes.HasPrefix(head, []byte(magic)):
		s.isFile = true
		n, _ := s.r.Discard(len(head))
		s.at = int64(n)
	}
	b, m, err := s.message()
	switch {
	case err == errVersion || err != nil && !isFormat(err):
		return err
	case s.isFile && err != errNoEnd && (err != nil || m.kind != schemaHeader):
		return errColumnsAtEnd
	case err != nil || m.kind != schemaHeader:
		return errNotArrow
	}
	s.held.drop(b.at)
	b.at = 0 // as of a stream
	return s.f.add(b, m)
}

// errColumnsAtEnd is about the files of Polars.
var errColumnsAtEnd = errors.New("it is a file that says only at its end which columns it has, so it cannot be " +
	"read as a stream; name the file, or write a stream")

// isFormat reports whether an error is about the bytes, and not about reading them.
func isFormat(err error) bool {
	return slices.Contains([]error{io.EOF, io.ErrUnexpectedEOF, errNoEnd, errMessage, errNotArrow}, err)
}

// Columns implements [format.ColumnStream].
func (s *stream) Columns() []source.Column { return s.f.described }

// Next implements [format.ColumnStream]. Messages are taken one after the other, and decompressed at once.
func (s *stream) Next(fields []format.Field) (source.Rows, int64, error) {
	r, in, err := s.take(fields)
	if err != nil {
		return nil, 0, err
	}
	err = r.fill(in)
	s.held.drop(in.b.at)
	if err != nil {
		return nil, 0, fmt.Errorf("arrowread: row %d and those after it: %w", r.batch.first+1, err)
	}
	return r, r.batch.first, nil
}

// take reads up to the next record batch, and finds its arrays.
func (s *stream) take(fields []format.Field) (*rows, *body, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil {
		b, m, err := s.message()
		if err == nil {
			s.f.batches = s.f.batches[:0]
			err = s.add(b, m)
		}
		if err == nil && m.kind == batchHeader {
			one := s.f.batches[0]
			one.first = s.rows
			s.rows += one.rows
			r := &rows{f: &s.f, batch: &one, reader: reader{most: s.f.largest}}
			var in *body
			if in, err = r.prepare(fields); err == nil {
				return r, in, nil
			}
		}
		if s.err = err; err != nil && err != io.EOF {
			s.err = fmt.Errorf("arrowread: after row %d: %w", s.rows, err)
		}
	}
	return nil, nil, s.err
}

// add adds a message. A dictionary takes the place of the one before it, whose values record batches have taken.
func (s *stream) add(b block, m message) error {
	if err := s.f.add(b, m); err != nil || m.kind != dictionaryHeader {
		return err
	}
	d := &s.f.dictionaries[len(s.f.dictionaries)-1]
	if !d.delta {
		for _, old := range s.kept[d.id] {
			s.size -= s.held.drop(old)
		}
		s.kept[d.id] = s.kept[d.id][:0]
	}
	s.kept[d.id] = append(s.kept[d.id], d.at)
	if s.size += int64(d.metadata) + d.body; s.size > mostOpen {
		return tooLarge(s.size)
	}
	return nil
}

// message reads the next message, and holds it. It returns io.EOF at the end of the stream.
func (s *stream) message() (b block, m message, err error) {
	b.at = s.at
	var head [2 * word]byte
	if _, err := io.ReadFull(s.r, head[:word]); err != nil {
		return b, m, ended(err)
	}
	before := head[:word]
	size := binary.LittleEndian.Uint32(before)
	if size == continuation {
		before = head[:]
		if _, err := io.ReadFull(s.r, head[word:]); err != nil {
			return b, m, ended(err)
		}
		size = binary.LittleEndian.Uint32(head[word:])
	}
	switch {
	case size == 0:
		return b, m, s.end()
	case size > largestMetadata:
		return b, m, errNotArrow
	}
	text := bytes.NewBuffer(slices.Clone(before))
	if _, err := io.CopyN(text, s.r, int64(size)); err != nil {
		return b, m, ended(err)
	}
	b.metadata = int32(text.Len())
	if m, err = parseMessage(slices.Clone(text.Bytes()[len(before):])); err != nil {
		return b, m, err
	}
	if b.body = m.body; b.body > mostOpen {
		return b, m, tooLarge(b.body)
	}
	if _, err := io.CopyN(text, s.r, b.body); err != nil { // which takes memory as the bytes come
		return b, m, ended(err)
	}
	s.at += int64(text.Len())
	s.held.add(b.at, text.Bytes())
	return b, m, nil
}

// ended returns the error of a stream that ends too early.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errNoEnd
	}
	return err
}

// end reads what is behind the messages: of a stream nothing, and of a file its index.
func (s *stream) end() error {
	var tail []byte
	for {
		piece, err := s.r.Peek(1)
		if len(piece) > 0 {
			piece, _ = s.r.Peek(s.r.Buffered())
			if !s.isFile {
				return errAfterEnd
			}
			tail = append(tail, piece...)
			tail = tail[max(0, len(tail)-len(magic)):]
			_, _ = s.r.Discard(len(piece)) // which are buffered
			continue
		}
		switch {
		case err != io.EOF:
			return err
		case s.isFile && string(tail) != magic:
			return errNoEnd
		}
		return io.EOF
	}
}

// held are the messages that are in memory. It reads as the stream that they are parts of.
type held struct {
	mu     sync.Mutex
	pieces map[int64][]byte // by where they begin
}

func (h *held) add(at int64, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pieces == nil {
		h.pieces = map[int64][]byte{}
	}
	h.pieces[at] = data
}

// drop drops a message, and returns its size.
func (h *held) drop(at int64) (size int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	size = int64(len(h.pieces[at]))
	delete(h.pieces, at)
	return size
}

// ReadAt reads from one message.
func (h *held) ReadAt(p []byte, at int64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for begin, data := range h.pieces {
		if at >= begin && at-begin < int64(len(data)) {
			if n := copy(p, data[at-begin:]); n < len(p) {
				return n, io.ErrUnexpectedEOF
			}
			return len(p), nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}
