package agefile

import (
	"bufio"
	"crypto/cipher"
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"

	"culvert/internal/strictio"
)

// ReaderAt decrypts any part of a file. It is safe for concurrent use.
//
// It reads and opens whole chunks, with one ReadAt of the source for up to 1 MiB, and uses several cores for a large
// request. Recent chunks stay in its [Cache]: two spans (2.5 MiB) for each worker by default.
//
// If callers read one part of the file after the other, in small requests that may be concurrent, these requests share
// spans: each span is read and opened once, as a whole, unless the source returns less than 4 MiB per second, whatever
// its latency.
type ReaderAt struct {
	runs    runs
	workers int
	cache   *Cache
	aead    cipher.AEAD
	src     io.ReaderAt
	start   int64 // where chunk 0 lies in src
	sealed  int64 // size of all chunks
	size    int64 // size of the plaintext
	chunks  int64
}

// NewReaderAt reads the header of an age file of size bytes, and its last chunk, which proves the size.
// If no identity opens the file, the error is an [*age.NoIdentityMatchError].
func NewReaderAt(src io.ReaderAt, size int64, identities ...age.Identity) (*ReaderAt, error) {
	return Config{}.NewReaderAt(src, size, identities...)
}

// NewReaderAt is [NewReaderAt] with a configuration.
func (c Config) NewReaderAt(src io.ReaderAt, size int64, identities ...age.Identity) (*ReaderAt, error) {
	if c.Cache != nil && c.Cache.reads(src) {
		return nil, errSameCache
	}
	key, start, err := openHeader(bufio.NewReader(io.NewSectionReader(src, 0, size)), identities)
	if err != nil {
		return nil, err
	}
	return c.newPayloadReaderAt(src, start, size-start, key)
}

// newPayloadReaderAt opens a payload of sealed bytes that begins at start.
func (c Config) newPayloadReaderAt(src io.ReaderAt, start, sealed int64, key []byte) (*ReaderAt, error) {
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	r := &ReaderAt{workers: c.workers(), cache: c.Cache, aead: aead, src: src, start: start, sealed: sealed}
	if r.cache == nil {
		r.cache = NewCache(2 * r.workers)
	}
	if r.size, r.chunks, err = PayloadSize(nonceSize + sealed); err != nil {
		return nil, err
	}
	last := extent{r.chunks - 1, 1}
	s, err := r.hold(last, last)
	r.cache.release(s)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// PayloadSize returns the size of the plaintext and the number of chunks in a payload of the given size. The payload is
// the file without its header. Sizes that no complete file has are [ErrCorrupt].
func PayloadSize(payload int64) (plain, chunks int64, err error) {
	sealed := payload - nonceSize
	if sealed > math.MaxInt64-sealedChunkSize {
		return 0, 0, corrupt("the payload is too large")
	}
	chunks = (sealed + sealedChunkSize - 1) / sealedChunkSize
	last := sealed - (chunks-1)*sealedChunkSize
	if sealed < overhead || last <= overhead && chunks > 1 {
		return 0, 0, truncated("no complete file has this size")
	}
	return sealed - chunks*overhead, chunks, nil
}

// Size returns the size of the plaintext in bytes.
func (r *ReaderAt) Size() int64 { return r.size }

// ReadAt reads authenticated plaintext. If a chunk is damaged, ReadAt returns the bytes before it and an error that
// wraps [ErrCorrupt].
func (r *ReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if r.src == nil {
		return 0, errNotMade
	}
	if off < 0 {
		return 0, errors.New("agefile: negative offset")
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= r.size {
		return 0, io.EOF
	}
	whole := int64(len(p)) <= r.size-off
	if !whole {
		p = p[:r.size-off]
	}
	n, err := r.readSpans(p, off)
	if err == nil && !whole {
		err = io.EOF
	}
	return n, err
}

// readSpans cuts a request at multiples of a span.
func (r *ReaderAt) readSpans(p []byte, off int64) (int, error) {
	pieces := int((off+int64(len(p))-1)/spanPlain - off/spanPlain + 1)
	if pieces == 1 {
		return r.readSpan(p, off)
	}
	return r.readPieces(p, off, pieces)
}

// readPieces reads the pieces of a request on several cores.
func (r *ReaderAt) readPieces(p []byte, off int64, pieces int) (int, error) {
	start := off - off%spanPlain // of the first span
	type result struct {
		n   int
		err error
	}
	results := make([]result, pieces)
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < pieces; i = int(next.Add(1)) - 1 {
			from := max(0, int(start-off)+i*spanPlain)
			to := min(len(p), int(start-off)+(i+1)*spanPlain)
			results[i].n, results[i].err = r.readSpan(p[from:to], off+int64(from))
		}
	}
	var wg sync.WaitGroup
	for range min(r.workers, pieces) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	total := 0
	for _, res := range results {
		total += res.n
		if res.err != nil {
			return total, res.err
		}
	}
	return total, nil
}

// View calls use with size bytes of authenticated plaintext at off, without copying them, if they lie within one of the
// file's spans of 1 MiB. Otherwise it returns false. The bytes must not be changed, nor used after use has returned.
// Until then they take memory of the [Cache], and other readers may wait for it.
func (r *ReaderAt) View(off int64, size int, use func(p []byte)) (bool, error) {
	if r.src == nil {
		return false, errNotMade
	}
	if off < 0 || size <= 0 || int64(size) > r.size-off || off/spanPlain != (off+int64(size)-1)/spanPlain {
		return false, nil
	}
	s, part, err := r.view(off, size)
	defer r.cache.release(s)
	if err != nil {
		return false, err
	}
	use(part)
	return true, nil
}

// readSpan reads a piece that lies within one span.
func (r *ReaderAt) readSpan(p []byte, off int64) (int, error) {
	s, part, err := r.view(off, len(p))
	defer r.cache.release(s)
	return copy(p, part), err
}

// view returns size bytes that lie within one span, or those before an error. The caller must release the span.
func (r *ReaderAt) view(off int64, size int) (*cached, []byte, error) {
	first := off / chunkSize
	need := extent{first, (off+int64(size)-1)/chunkSize - first + 1}
	load := need
	if r.runs.note(need) {
		load = r.span(first)
	}
	s, err := r.hold(need, load)
	skip := off - int64(s.first)*chunkSize
	if skip >= int64(s.plain) {
		return s, nil, err
	}
	part := s.plaintext()[skip:]
	return s, part[:min(size, len(part))], err
}

// span returns the chunks of the span that has a chunk.
func (r *ReaderAt) span(chunk int64) extent {
	first := chunk - chunk%spanChunks
	return extent{first, min(spanChunks, r.chunks-first)}
}

// hold returns a span that has the chunks need, or fewer with an error. If the cache has none, it loads the chunks
// load, which include them. The caller must release the span.
func (r *ReaderAt) hold(need, load extent) (*cached, error) {
	s, mine := r.cache.take(r.aead, need, load)
	if mine {
		r.loadShared(s)
	}
	if s.holds(r.aead, need) {
		return s, nil
	}
	if s.wanted != need {
		r.runs.forget()
		if errors.Is(s.err, ErrCorrupt) { // perhaps only in chunks that are not needed
			r.cache.release(s)
			return r.hold(need, need)
		}
	}
	return s, s.err
}

// loadShared loads the chunks that are wanted of a span, for all that wait for it.
func (r *ReaderAt) loadShared(s *cached) {
	var err error
	returned := false
	defer func() {
		r.cache.ready(s, err)
		if !returned { // the source panics
			r.cache.release(s)
		}
	}()
	began := time.Now()
	err = r.load(&s.span, s.wanted)
	returned = true
	r.runs.took(s.wanted, time.Since(began))
}

// load reads and opens chunks.
func (r *ReaderAt) load(s *span, chunks extent) error {
	from := chunks.first * sealedChunkSize
	to := min(from+chunks.count*sealedChunkSize, r.sealed)
	s.readErr = nil
	// All at once: each ReadAt of a remote source takes a round trip.
	input := s.input(int(to - from))
	s.n, s.readErr = strictio.ReadFullAt(r.src, input, r.start+from)
	s.open()
	atEnd := chunks.end() == r.chunks
	opened := int64(s.opened) == chunks.count
	if s.final && (!opened || !atEnd) {
		// Authentic, but misplaced: its mark as the last chunk does not fit its position.
		s.opened--
		s.plain = s.opened * chunkSize
	}
	if s.readErr == io.EOF {
		return truncated("the file is shorter than it was")
	} else if s.readErr != nil {
		return s.readErr
	}
	if opened && s.final == atEnd {
		return nil
	}
	if opened && !s.final {
		s.opened-- // without the mark of the last chunk
		s.plain = s.opened * chunkSize
	}
	return corrupt("chunk %d is damaged", s.first+uint64(s.opened))
}
