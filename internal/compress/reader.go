package compress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"

	"culvert/internal/strictio"
)

var (
	errNotMade = errors.New("compress: use of a zero Reader or FrameDecoder")
	errClosed  = errors.New("compress: read of a closed Reader")
)

// pieceSize is the size of the buffers between a source, a decoder and a reader.
const pieceSize = 128 << 10

// Reader returns the text of a compressed stream. Use [NewReader] to make one. A Reader must be used by one goroutine
// at a time.
type Reader struct {
	codec  Codec
	pieces pieces
	piece  []byte // rest of the current piece
	err    error
}

// pieces is a decoder that returns the text in pieces. A piece is valid until the next call of next. close may be
// called more than once.
type pieces interface {
	next() ([]byte, error)
	close()
}

// NewReader detects the compression of src by its first bytes. Input that is neither zstd nor gzip is returned as it
// is. The Reader reads src only in the calling goroutine, and reads ahead.
//
// NewReader returns the error of src if the first bytes cannot be read. If src returns neither bytes nor an error a
// hundred times in a row, the error is [io.ErrNoProgress]. A caller that stops before io.EOF or an error must call
// [Reader.Close].
func NewReader(src io.Reader) (*Reader, error) { return NewParallelReader(src, 0) }

// NewParallelReader is [NewReader] with at most so many workers. Zero means one for each core. Each takes about 3 MiB,
// and so do two frames more.
func NewParallelReader(src io.Reader, workers int) (*Reader, error) {
	s := &source{Reader: strictio.Reader{R: src}}
	buffered := inputs.Get().(*bufio.Reader)
	buffered.Reset(s)
	head, err := buffered.Peek(4)
	if err != nil && err != io.EOF {
		freeInput(buffered)
		return nil, err
	}
	codec := detect(head)
	switch codec {
	case Zstd:
		return &Reader{codec: codec, pieces: newZstdPieces(s, buffered, workers)}, nil
	case Gzip:
		return &Reader{codec: codec, pieces: newGzipPieces(s, buffered)}, nil
	default:
		return &Reader{codec: codec, pieces: &plainPieces{src: buffered, buf: make([]byte, pieceSize)}}, nil
	}
}

// detect returns the codec of a stream that begins with head: four bytes, or fewer if the stream is shorter.
func detect(head []byte) Codec {
	const (
		gzipMagic = "\x1f\x8b"
		zstdMagic = "\x28\xb5\x2f\xfd"
		skipMagic = "\x2a\x4d\x18" // after a byte of 0x50 to 0x5f
	)
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		return Gzip
	case len(head) >= 2 && bytes.HasPrefix([]byte(zstdMagic), head):
		return Zstd
	case len(head) == 4 && head[0]&0xf0 == 0x50 && string(head[1:]) == skipMagic:
		return Zstd
	default:
		return None
	}
}

// inputs has the buffers of past Readers. For a small file, new ones would take most of the time.
var inputs = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, pieceSize) }}

// freeInput gives the buffer of a Reader to later ones. It does nothing with nil.
func freeInput(b *bufio.Reader) {
	if b != nil {
		b.Reset(nil)
		inputs.Put(b)
	}
}

// Codec returns the compression of the source.
func (r *Reader) Codec() Codec { return r.codec }

// Sealed reports whether the stream ended with a seek table that lists exactly the frames that were read. It is valid
// after io.EOF. Only a sealed stream is known to be complete: a stream without a table that is cut between two frames
// or members is still valid.
//
// If a seek table does not match the frames, Read returns an error.
func (r *Reader) Sealed() bool {
	z, ok := r.pieces.(*zstdPieces)
	return ok && z.err == io.EOF && z.account.sealed
}

// Read returns the next text. Errors about the compressed data wrap [ErrCorrupt], and also io.ErrUnexpectedEOF if the
// stream is truncated. Errors of the source are returned unchanged. Errors are sticky.
//
// Before an error, Read returns all text before the damaged frame. The checksum is at the end of a frame, so Read may
// also have returned damaged text of a gzip member, or of a zstd frame above 4 MiB.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := copy(p, r.piece)
	r.piece = r.piece[n:]
	return n, nil
}

// WriteTo writes the rest of the text to w, without copying it.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for {
		if err := r.fill(); err == io.EOF {
			return written, nil
		} else if err != nil {
			return written, err
		}
		n, err := strictio.Write(w, r.piece)
		r.piece = r.piece[n:]
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
}

// fill makes sure that the current piece is not empty. At the end, and after an error, it ends the goroutines.
func (r *Reader) fill() error {
	if r.pieces == nil {
		return errNotMade
	}
	for len(r.piece) == 0 {
		if r.err != nil {
			return r.err
		}
		if r.piece, r.err = r.pieces.next(); r.err != nil {
			r.pieces.close()
		}
	}
	return nil
}

// Close ends the goroutines of the Reader and always returns nil. It does not close the source. After io.EOF or an
// error, Close is not needed.
func (r *Reader) Close() error {
	if r.pieces == nil {
		return nil
	}
	if r.err == nil || r.err == io.EOF {
		r.err = errClosed
	}
	r.piece = nil
	r.pieces.close()
	return nil
}

// plainPieces returns input that is not compressed.
type plainPieces struct {
	src *bufio.Reader // nil once it is closed
	buf []byte
}

func (p *plainPieces) next() ([]byte, error) {
	n, err := p.src.Read(p.buf)
	return p.buf[:n], err
}

func (p *plainPieces) close() {
	freeInput(p.src)
	p.src = nil
}

// gzipPieces returns the text of gzip members. Like gzip, it ignores zeros after the last member, which fill the blocks
// of tapes.
type gzipPieces struct {
	src      *source
	buffered *bufio.Reader
	gzip     *gzip.Reader
	inside   bool // a member
	buf      []byte
}

func newGzipPieces(s *source, buffered *bufio.Reader) *gzipPieces {
	return &gzipPieces{src: s, buffered: buffered, gzip: new(gzip.Reader), buf: make([]byte, pieceSize)}
}

func (p *gzipPieces) next() ([]byte, error) {
	if !p.inside {
		if err := p.begin(); err != nil {
			return nil, err
		}
	}
	n, err := p.gzip.Read(p.buf)
	switch {
	case err == io.EOF:
		p.inside = false
		err = p.between()
	case err != nil:
		err = p.src.explain(Gzip, err)
	}
	return p.buf[:n], err
}

// begin reads the header of a member.
func (p *gzipPieces) begin() error {
	err := p.gzip.Reset(p.buffered)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return p.src.explain(Gzip, err)
	}
	p.gzip.Multistream(false)
	p.inside = true
	return nil
}

var errAfterMember = errors.New("trailing data after a member")

// between returns nil if another member follows, and io.EOF at the end of the stream.
func (p *gzipPieces) between() error {
	const firstOfMagic = 0x1f
	zeros := false
	for {
		switch b, err := p.buffered.ReadByte(); {
		case err == io.EOF:
			return io.EOF
		case err != nil:
			return p.src.explain(Gzip, err)
		case b == 0:
			zeros = true
		case b == firstOfMagic && !zeros:
			return p.buffered.UnreadByte()
		default:
			return corrupt(Gzip, errAfterMember)
		}
	}
}

func (p *gzipPieces) close() {
	freeInput(p.buffered)
	p.buffered = nil
}

// source keeps the error of a reader, to tell it from errors about the data when a decoder returns it.
type source struct {
	strictio.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// explain returns the error to report for an error of a decoder.
func (s *source) explain(codec Codec, err error) error {
	var known *corruptError
	switch {
	case s.err != nil && errors.Is(err, s.err):
		return s.err
	case errors.Is(err, io.ErrNoProgress):
		return err
	case errors.As(err, &known):
		return known
	default:
		return corrupt(codec, err)
	}
}
