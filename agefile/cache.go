package agefile

import (
	"crypto/cipher"
	"errors"
	"io"
	"slices"
	"sync"
)

// Cache is the memory of one or several [ReaderAt]: a fixed number of spans of opened chunks. When all are in use,
// readers wait. A Cache is safe for concurrent use. The zero Cache has one span.
//
// A ReaderAt holds a span while it reads its source. If the source is read through the same Cache, they may deadlock.
// [NewReaderAt] therefore refuses such a ReaderAt, or an [*io.SectionReader] of one, but cannot look into other types.
type Cache struct {
	mu    sync.Mutex
	spans []*cached
	back  sync.Cond // a span has come back to idle
	idle  []*cached // without users, least recently used first
}

// cached is a span in a Cache. While it is loading, only the reader that loads it may use the embedded span, except for
// aead. Afterwards any number of readers may, and nothing changes it until it is idle.
type cached struct {
	span
	users   int
	wanted  extent // that was to be loaded
	loading bool
	loaded  sync.Cond // loading has ended
	err     error     // why wanted is not complete
}

// extent is a number of consecutive chunks.
type extent struct{ first, count int64 }

func (e extent) end() int64 { return e.first + e.count }

func (e extent) covers(other extent) bool { return e.first <= other.first && other.end() <= e.end() }

// NewCache returns a cache of the given number of spans, at least one. A span grows with the requests, to 1.25 MiB.
func NewCache(spans int) *Cache {
	c := new(Cache)
	c.make(spans)
	return c
}

// make makes the spans of a Cache that has none.
func (c *Cache) make(spans int) {
	c.back.L = &c.mu
	for range max(1, spans) {
		s := new(cached)
		s.loaded.L = &c.mu
		c.spans, c.idle = append(c.spans, s), append(c.idle, s)
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

// holds reports whether the span holds these chunks of a file, opened. The cipher identifies the file.
func (s *cached) holds(file cipher.AEAD, chunks extent) bool {
	return s.aead == file && extent{int64(s.first), int64(s.opened)}.covers(chunks)
}

// take returns a span that holds the chunks need, or one that could not be loaded with them. Or it takes the span that
// was least recently used, and reports that the caller must load the chunks load. The caller must release the span.
func (c *Cache) take(file cipher.AEAD, need, load extent) (s *cached, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spans == nil {
		c.make(1)
	}
	for {
		if s := c.find(file, need); s != nil {
			c.use(s)
			for s.loading {
				s.loaded.Wait()
			}
			if s.err != nil || s.holds(file, need) {
				return s, false
			}
			c.unuse(s) // the reader that loaded it panicked
			continue
		}
		if len(c.idle) > 0 {
			s := c.idle[0]
			c.use(s)
			s.aead, s.first, s.opened, s.plain = file, uint64(load.first), 0, 0
			s.wanted, s.loading, s.err = load, true, nil
			return s, true
		}
		c.back.Wait()
	}
}

// find returns a span that holds chunks, or will when it is loaded, or nil.
func (c *Cache) find(file cipher.AEAD, chunks extent) *cached {
	for _, s := range c.spans {
		if s.loading && s.aead == file && s.wanted.covers(chunks) || !s.loading && s.holds(file, chunks) {
			return s
		}
	}
	return nil
}

func (c *Cache) use(s *cached) {
	if s.users++; s.users == 1 {
		i := slices.Index(c.idle, s)
		c.idle = slices.Delete(c.idle, i, i+1)
	}
}

func (c *Cache) unuse(s *cached) {
	if s.users--; s.users == 0 {
		c.idle = append(c.idle, s)
		c.back.Signal()
	}
}

// ready lets others use a span that was loaded, or that has an error.
func (c *Cache) ready(s *cached, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.loading, s.err = false, err
	s.loaded.Broadcast()
}

// release ends the use of a span.
func (c *Cache) release(s *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unuse(s)
}
