package compress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// pieceSize is the size of the buffers between a source, a decoder and a reader.
const pieceSize = 128 << 10

// Reader returns the text of a compressed stream. It is for one goroutine at a time, and made by [NewReader].
type Reader struct {
	codec  Codec
	pieces pieces
	piece  []byte // the rest of the current piece
	err    error
}

// pieces is a decoder that returns the text piece by piece. A piece is valid until the next call of next. It may be
// closed more than once.
type pieces interface {
	next() ([]byte, error)
	close()
}

// NewReader finds out by the first bytes of src how it is compressed. What is neither zstd nor gzip is not compressed.
// It reads src from the goroutine that calls, and further ahead than it gives text.
//
// The error is that of src, if it fails in the first bytes. A src that returns nothing, neither bytes nor an error, a
// hundred times in a row ends the stream with [io.ErrNoProgress].
//
// A caller that stops before io.EOF or an error must call [Reader.Close].
func NewReader(src io.Reader) (*Reader, error) {
	s := &source{Reader: src}
	buffered := bufio.NewReaderSize(s, pieceSize)
	head, err := buffered.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	codec := detect(head)
	switch codec {
	case Zstd:
		return &Reader{codec: codec, pieces: newZstdPieces(s, buffered)}, nil
	case Gzip:
		return &Reader{codec: codec, pieces: newGzipPieces(s, buffered)}, nil
	default:
		return &Reader{codec: codec, pieces: &plainPieces{src: buffered, buf: make([]byte, pieceSize)}}, nil
	}
}

// detect knows a stream by its first four bytes, or by less of them if there are no more.
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

// Codec says how the source is compressed.
func (r *Reader) Codec() Codec { return r.codec }

// Sealed reports whether the stream ended with a seek table that lists just the frames that were read. It is known once
// the Reader has returned io.EOF. Only of a sealed stream is it certain that nothing is missing: if a stream without a
// table is cut between two frames or members, what is left is a valid stream.
//
// A seek table that does not fit the frames is an error of Read, whatever Sealed says.
func (r *Reader) Sealed() bool {
	z, ok := r.pieces.(*zstdPieces)
	return ok && z.err == io.EOF && z.account.sealed
}

// Read gives the next text. Errors about the compressed data wrap [ErrCorrupt], and io.ErrUnexpectedEOF too if it ends
// early. All text before the damaged frame has been given by then; of a gzip member, and of a zstd frame above 4 MiB,
// also text after the damage may have been, since the checksum stands at its end. Errors of the source are returned as
// they are. Errors stay.
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

// WriteTo writes all text to w, without copying it.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for {
		if err := r.fill(); err == io.EOF {
			return written, nil
		} else if err != nil {
			return written, err
		}
		n, err := w.Write(r.piece)
		if n < 0 || n > len(r.piece) {
			n, err = 0, errCount
		}
		if err == nil && n < len(r.piece) {
			err = io.ErrShortWrite
		}
		r.piece = r.piece[n:]
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
}

// fill sees to it that there is text in the current piece. At the end, and after an error, it ends the goroutines.
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

// Close ends the goroutines of the Reader. It does not close the source. It is not needed after io.EOF or an error. The
// error is always nil.
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

var errClosed = errors.New("compress: read of a closed Reader")

// plainPieces gives what is not compressed.
type plainPieces struct {
	src io.Reader
	buf []byte
}

func (p *plainPieces) next() ([]byte, error) {
	n, err := p.src.Read(p.buf)
	return p.buf[:n], err
}

func (p *plainPieces) close() {}
