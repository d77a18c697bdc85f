package agefile

import (
	"bufio"
	"crypto/cipher"
	"errors"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"

	"culvert/internal/strictio"
)

// ReaderAt decrypts any part of a file. It is safe for concurrent use.
//
// It reads and opens whole chunks, with one ReadAt of the source for up to 1 MiB, and uses several cores for a large
// request. Recent chunks stay in its [Cache]: two spans (2.5 MiB) for each worker by default.
type ReaderAt struct {
	workers int
	cache   *Cache
	aead    cipher.AEAD
	src     io.ReaderAt
	start   int64 // where chunk 0 lies in src
	sealed  int64 // size of all chunks
	size    int64 // size of the plaintext
	chunks  int64
}

// Cache is the memory of one or several [ReaderAt]: a fixed number of spans of opened chunks. When all are in use,
// readers wait. A Cache is safe for concurrent use. The zero Cache has one span.
//
// A ReaderAt holds a span while it reads its source. If the source is read through the same Cache, they may deadlock.
// [NewReaderAt] therefore refuses such a ReaderAt, or an [*io.SectionReader] of one, but cannot look into other types.
type Cache struct {
	mu   sync.Mutex
	made bool
	back sync.Cond // a span has come back to idle
	idle []*span   // not in use, least recently used first
}

// NewCache returns a cache of the given number of spans, at least one. A span grows with the requests, to 1.25 MiB.
func NewCache(spans int) *Cache {
	c := new(Cache)
	c.make(spans)
	return c
}

// make makes the spans of a Cache that has none.
func (c *Cache) make(spans int) {
	c.made, c.back.L = true, &c.mu
	for range max(1, spans) {
		c.idle = append(c.idle, new(span))
	}
}

var errSameCache = errors.New("agefile: the source uses the same Cache; it needs its own")

// reads reports whether the type of src shows that it is read through the Cache.
func (c *Cache) reads(src io.ReaderAt) bool {
	switch src := src.(type) {
	case *io.SectionReader:
		outer, _, _ := src.Outer()
		return c.reads(outer)
	case *ReaderAt:
		return src.cache == c || c.reads(src.src)
	}
	return false
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

// newPayloadReaderAt opens a payload of so many bytes that begins at start.
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
	s := r.cache.take(aead, r.chunks-1, 1)
	defer r.cache.put(s)
	if err := r.load(s, r.chunks-1, 1); err != nil {
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
	var wg sync.WaitGroup
	for range min(r.workers, pieces) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= pieces {
					return
				}
				from := max(0, int(start-off)+i*spanPlain)
				to := min(len(p), int(start-off)+(i+1)*spanPlain)
				results[i].n, results[i].err = r.readSpan(p[from:to], off+int64(from))
			}
		})
	}
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

// readSpan reads a piece that lies within one span.
func (r *ReaderAt) readSpan(p []byte, off int64) (int, error) {
	first := off / chunkSize
	count := int((off+int64(len(p))-1)/chunkSize - first + 1)
	s := r.cache.take(r.aead, first, count)
	defer r.cache.put(s)
	var err error
	if !s.holds(r.aead, first, count) {
		err = r.load(s, first, count)
	}
	skip := off - int64(s.first)*chunkSize
	if skip >= int64(s.plain) {
		return 0, err
	}
	return copy(p, s.plaintext()[skip:]), err
}

// load reads and opens count chunks.
func (r *ReaderAt) load(s *span, first int64, count int) error {
	from := first * sealedChunkSize
	to := min(from+int64(count)*sealedChunkSize, r.sealed)
	s.aead, s.first, s.opened, s.readErr = r.aead, uint64(first), 0, nil
	// All at once: each ReadAt of a remote source takes a round trip.
	input := s.input(int(to - from))
	s.n, s.readErr = strictio.ReadFullAt(r.src, input, r.start+from)
	s.open()
	if s.readErr == io.EOF {
		return truncated("the file is shorter than it was")
	} else if s.readErr != nil {
		return s.readErr
	}
	atEnd := first+int64(count) == r.chunks
	if s.opened == count && s.final == atEnd {
		return nil
	}
	if s.final || s.opened == count {
		// Authentic, but misplaced: its mark as the last chunk does not fit its position.
		s.opened--
		s.plain = s.opened * chunkSize
	}
	return corrupt("chunk %d is damaged", s.first+uint64(s.opened))
}

// holds reports whether the span holds these chunks of a file, opened. The cipher identifies the file.
func (s *span) holds(file cipher.AEAD, first int64, count int) bool {
	return s.aead == file && int64(s.first) <= first && first+int64(count) <= int64(s.first)+int64(s.opened)
}

// take removes an idle span: one that holds the chunks, or else the least recently used.
func (c *Cache) take(file cipher.AEAD, first int64, count int) *span {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.made {
		c.make(1)
	}
	for len(c.idle) == 0 {
		c.back.Wait()
	}
	i := max(0, slices.IndexFunc(c.idle, func(s *span) bool { return s.holds(file, first, count) }))
	s := c.idle[i]
	c.idle = slices.Delete(c.idle, i, i+1)
	return s
}

func (c *Cache) put(s *span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, s)
	c.back.Signal()
}
