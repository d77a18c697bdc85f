package agefile

import (
	"crypto/cipher"
	"encoding/binary"
	"io"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"

	"culvert/bytebuf"
)

const (
	chunkSize       = 64 << 10
	overhead        = chacha20poly1305.Overhead
	sealedChunkSize = chunkSize + overhead

	// spanChunks is the number of chunks that travel together. 1 MiB makes the cost of a hand-over between goroutines
	// vanish beside the sealing, and one write a span is large enough for any disk.
	spanChunks = 16

	// slide is how far the input of a span lies behind its output, so that no chunk overlaps its own result.
	slide = sealedChunkSize + spanChunks*overhead
)

// span is a run of consecutive chunks in one buffer. The input begins at slide, the output at zero, each without gaps:
//
//	buf   │◀─── slide ───▶│ input 0 │ input 1 │ input 2 │ …
//	      │ output 0 │ output 1 │ output 2 │ …
//
// Chunk after chunk moves to the left, into the place that earlier inputs have left. This takes one chunk of memory
// more than working in place would. For that, plaintext is contiguous on both ways, and a chunk that fails to open as
// one kind can be tried as the other, which in place it could not: a failed Open leaves zeros.
type span struct {
	aead  cipher.AEAD
	nonce [chacha20poly1305.NonceSize]byte
	buf   []byte
	owner *bytebuf.Buffer // of buf; nil before the first
	first uint64          // number of the first chunk
	n     int             // bytes of input

	at   io.ReaderAt // where the input is still to be read from, or nil
	off  int64       // at this offset
	lent []byte      // sealing: input that lies elsewhere, or nil

	last    bool  // sealing: the payload ends here
	readErr error // what ended the reading of the input, io.EOF included

	// The result of open: the number of authentic chunks, their plaintext's size, and whether the last of them is
	// marked as the payload's last. What follows them is damaged or has not been looked at.
	opened int
	plain  int
	final  bool
}

// input is the space for so many bytes of input. The buffer grows on demand, since most files are smaller than a span.
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

// free hands the buffer on, to other files and to whoever uses package bytebuf; so it must not hold plaintext. New
// memory would cost about as much time as to seal what fits into it.
func (s *span) free() {
	clear(s.buf)
	if s.owner != nil {
		s.owner.Free()
	}
	s.buf, s.owner = nil, nil
}

func (s *span) setNonce(i int, last bool) []byte {
	// Of the counter's 88 bits the upper 24 would be needed from 2^80 bytes on.
	binary.BigEndian.PutUint64(s.nonce[3:11], s.first+uint64(i))
	s.nonce[11] = 0
	if last {
		s.nonce[11] = 1
	}
	return s.nonce[:]
}

// chunk gives the next size bytes of input, or what there is. The input may still have to be read.
func (s *span) chunk(off, size int, scratch *scratch) []byte {
	size = min(size, s.n-off)
	switch {
	case s.lent != nil:
		return s.lent[off : off+size]
	case s.at == nil:
		return s.buf[slide+off:][:size]
	}
	n, err := readFullAt(s.at, scratch[:size], s.off+int64(off))
	if err != nil {
		s.readErr = err
		s.n = off + n
	}
	return scratch[:n]
}

// scratch is where a worker reads a chunk that it opens or seals at once. Being used again and again on the same
// core, it stays in its cache; the buffer of the span comes from the cache of another.
type scratch [sealedChunkSize]byte

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// seal seals the n bytes of input. An empty payload gives one empty chunk.
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

// sealed is the output of seal.
func (s *span) sealed() []byte {
	chunks := max(1, (s.n+chunkSize-1)/chunkSize)
	return s.buf[:s.n+chunks*overhead]
}

// open opens the n bytes of input, up to the first chunk that is damaged or marked as the last.
//
// Whether a full chunk is the last one is seen by what follows it. But a last one must be released also if something
// does follow, before that is found wrong; so both marks are tried.
func (s *span) open() {
	tmp := scratches.Get().(*scratch)
	defer scratches.Put(tmp)
	s.input(s.n) // room for the output
	s.opened, s.plain, s.final = 0, 0, false
	for in := 0; in < s.n && !s.final; {
		chunk := s.chunk(in, sealedChunkSize, tmp)
		if len(chunk) < sealedChunkSize && s.readErr != nil && s.readErr != io.EOF {
			s.n = in // whether the rest is a short chunk or a part of one cannot be known
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

// openChunk opens the next chunk and says in final whether it is marked as the last.
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

// plaintext is the output of open.
func (s *span) plaintext() []byte { return s.buf[:s.plain] }

// fill reads the input from a stream.
func (s *span) fill(src io.Reader) {
	// One chunk, then the rest, so that a small payload takes a small buffer.
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

// after says what is to be reported once the plaintext of an opened span has been released. It returns nil if the next
// span tells.
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
