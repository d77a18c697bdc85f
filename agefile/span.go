package agefile

import (
	"crypto/cipher"
	"encoding/binary"
	"io"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"

	"culvert/bytebuf"
	"culvert/internal/strictio"
)

const (
	chunkSize       = 64 << 10
	overhead        = chacha20poly1305.Overhead
	sealedChunkSize = chunkSize + overhead

	// spanChunks is the number of chunks in a span. With 1 MiB, the cost of passing spans between goroutines is
	// negligible, and one write of a span is large enough for any disk.
	spanChunks = 16

	spanPlain  = spanChunks * chunkSize
	spanSealed = spanChunks * sealedChunkSize

	// slide is the offset of a span's input from its output, so that no chunk overlaps its own result.
	slide = sealedChunkSize + spanChunks*overhead
)

// span is a run of consecutive chunks in one buffer. Input begins at offset slide and output at 0, each without gaps:
//
//	buf   │◀─── slide ───▶│ input 0 │ input 1 │ input 2 │ …
//	      │ output 0 │ output 1 │ output 2 │ …
//
// Each chunk moves left, over inputs that are no longer needed. This takes one more chunk of memory than sealing in
// place. In return, plaintext is contiguous in both directions, and a chunk that fails to open as one kind can be tried
// as the other: a failed Open in place would overwrite it with zeros.
type span struct {
	aead  cipher.AEAD
	nonce [chacha20poly1305.NonceSize]byte
	buf   []byte
	owner *bytebuf.Buffer // of buf; nil if buf is nil
	first uint64          // number of the first chunk
	n     int             // bytes of input

	at   io.ReaderAt // source that the input must be read from, or nil
	off  int64       // offset in at
	lent []byte      // sealing: the caller's input, or nil

	last    bool  // sealing: the payload ends here
	readErr error // error that ended the input, including io.EOF

	// The result of open: the number of authentic chunks, the size of their plaintext, and whether the last one is
	// marked as the payload's last. Bytes after them are damaged or were not examined.
	opened int
	plain  int
	final  bool
}

// input returns the space for size bytes of input. The buffer grows on demand, since many files are smaller than a
// span.
func (s *span) input(size int) []byte {
	if need := slide + size; need > len(s.buf) {
		owner := new(bytebuf.Buffer)
		buf := owner.Extend(max(need, min(2*len(s.buf), slide+spanSealed)))
		copy(buf, s.buf)
		s.free()
		s.buf, s.owner = buf, owner
	}
	return s.buf[slide : slide+size]
}

// free releases the buffer to all users of package bytebuf, so it first erases the plaintext. To allocate a buffer
// takes about as long as to seal its content.
func (s *span) free() {
	clear(s.buf)
	if s.owner != nil {
		s.owner.Free()
	}
	s.buf, s.owner = nil, nil
}

func (s *span) setNonce(i int, last bool) []byte {
	// The upper 24 bits of the counter's 88 would be needed from 2^80 bytes.
	binary.BigEndian.PutUint64(s.nonce[3:11], s.first+uint64(i))
	s.nonce[11] = 0
	if last {
		s.nonce[11] = 1
	}
	return s.nonce[:]
}

// chunk returns size bytes of input at off, or fewer at the end. It reads them from the source if necessary.
func (s *span) chunk(off, size int, scratch *scratch) []byte {
	size = min(size, s.n-off)
	switch {
	case s.lent != nil:
		return s.lent[off : off+size]
	case s.at == nil:
		return s.buf[slide+off:][:size]
	}
	n, err := strictio.ReadFullAt(s.at, scratch[:size], s.off+int64(off))
	if err != nil {
		s.readErr = err
		s.n = off + n
	}
	return scratch[:n]
}

// load reads all input that is still in the source.
func (s *span) load() {
	for in := 0; in < s.n; in += chunkSize {
		part := (*scratch)(s.input(in + sealedChunkSize)[in:])
		s.chunk(in, chunkSize, part)
	}
	s.at = nil
}

// scratch is where a worker reads a chunk before it seals or opens it. It stays in the cache of one core, unlike the
// buffer of a span.
type scratch [sealedChunkSize]byte

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// seal seals the n bytes of input. An empty payload is one empty chunk.
func (s *span) seal() {
	tmp := scratches.Get().(*scratch)
	defer scratches.Put(tmp)
	s.input(s.n) // room for the output
	in, out := 0, 0
	for i := 0; i == 0 || in < s.n; i++ {
		plain := s.chunk(in, chunkSize, tmp)
		in += len(plain)
		s.aead.Seal(s.buf[out:out], s.setNonce(i, s.last && in == s.n), plain, nil)
		out += sealedChunkSize
	}
	s.at, s.lent = nil, nil
}

// sealed returns the output of seal.
func (s *span) sealed() []byte {
	chunks := max(1, (s.n+chunkSize-1)/chunkSize)
	return s.buf[:s.n+chunks*overhead]
}

// open opens the n bytes of input, up to the first chunk that is damaged or marked as the last.
//
// Both marks are tried for each full chunk. Whether bytes follow does not tell which applies: a chunk marked as the
// last must be released even if trailing data follows it.
func (s *span) open() {
	tmp := scratches.Get().(*scratch)
	defer scratches.Put(tmp)
	s.input(s.n) // room for the output
	s.opened, s.plain, s.final = 0, 0, false
	for in := 0; in < s.n && !s.final; {
		chunk := s.chunk(in, sealedChunkSize, tmp)
		if len(chunk) < sealedChunkSize && s.readErr != nil && s.readErr != io.EOF {
			s.n = in // the rest may be a short chunk or a part of a longer one
			break
		}
		in += len(chunk)
		if len(chunk) == 0 || len(chunk) == overhead && s.first+uint64(s.opened) > 0 {
			break // only an empty payload ends in an empty chunk
		}
		out, ok := s.openChunk(chunk)
		if !ok {
			break
		}
		s.opened++
		s.plain += len(out)
	}
	s.at = nil
}

// openChunk opens the next chunk and sets final if it is marked as the last.
func (s *span) openChunk(chunk []byte) (out []byte, ok bool) {
	dst := s.buf[s.plain:s.plain]
	if len(chunk) == sealedChunkSize {
		if out, err := s.aead.Open(dst, s.setNonce(s.opened, false), chunk, nil); err == nil {
			return out, true
		}
	}
	out, err := s.aead.Open(dst, s.setNonce(s.opened, true), chunk, nil)
	s.final = err == nil
	return out, s.final
}

// plaintext returns the output of open.
func (s *span) plaintext() []byte { return s.buf[:s.plain] }

// fill reads the input from a stream.
func (s *span) fill(src io.Reader) {
	// One chunk first, so that a small payload takes a small buffer.
	s.n, s.readErr = io.ReadFull(src, s.input(sealedChunkSize))
	if s.readErr == nil {
		var n int
		n, s.readErr = io.ReadFull(src, s.input(spanSealed)[s.n:])
		s.n += n
	}
	if s.readErr == io.ErrUnexpectedEOF {
		s.readErr = io.EOF
	}
}

// after returns the error to report once the plaintext of an opened span has been released. It is nil if the next span
// decides.
func (s *span) after() error {
	rest := s.n - s.plain - s.opened*overhead
	switch {
	case s.final && rest > 0:
		return errTrailing
	case rest >= sealedChunkSize:
		return corrupt("chunk %d is damaged", s.first+uint64(s.opened))
	case rest > 0:
		return corrupt("chunk %d is damaged, or the file is cut short in it", s.first+uint64(s.opened))
	case s.readErr == io.EOF && !s.final:
		return truncated("the last chunks are missing")
	default:
		return s.readErr
	}
}
