// Package readahead reads a source from one offset to another, and requests several ranges of it ahead of the reader.
//
//	│ First │── up to Size ──│── Size ──│── Size ──│      each range ends at a multiple of Size
//	  ▲ being read  └──── requested, each by its own ReadAt ────┘
//
// Sources that answer after a round trip, such as servers and buckets, are read as fast as their line allows.
package readahead

import (
	"io"
	"sync"
)

// Config says how a source likes to be read. All fields must be positive.
type Config struct {
	// First is the size of the first range in bytes. If it is small, a file of which only the beginning is read costs
	// little.
	First int64

	// Size is the size of all other ranges. They begin and end at its multiples, as far as the source does: stores keep
	// files in blocks of such sizes, and may read a whole one for any part of it.
	Size int64

	// Parallel is how many ranges are requested ahead of the one that is read.
	Parallel int
}

// Reader reads ranges in order. It takes (Config.Parallel + 1) × Config.Size bytes of memory, less for small sources.
// Its methods must not be called concurrently.
type Reader struct {
	config Config
	src    io.ReaderAt
	next   int64 // where the next range begins
	end    int64

	ahead    []*segment // requested, in order
	requests sync.WaitGroup
	count    int    // ranges requested so far
	rest     []byte // what was received and not yet read
	used     []byte // memory for the next range
	err      error  // of all calls from now on
}

var _ io.WriterTo = (*Reader)(nil)

// segment is a range that was requested.
type segment struct {
	data []byte
	done chan struct{}
	err  error // valid after done
}

// NewReader returns a reader of the bytes of src from begin to end. It requests nothing before the first Read.
func (c Config) NewReader(src io.ReaderAt, begin, end int64) *Reader {
	return &Reader{config: c, src: src, next: begin, end: end}
}

// Read implements [io.Reader]. Its errors are those of the source, and [io.EOF] only at the end.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// WriteTo implements [io.WriterTo]. It does not copy, and w must not retain what is written.
func (r *Reader) WriteTo(w io.Writer) (written int64, err error) {
	for {
		if err := r.fill(); err == io.EOF {
			return written, nil
		} else if err != nil {
			return written, err
		}
		n, err := w.Write(r.rest)
		written += int64(n)
		r.rest = r.rest[n:]
		if err == nil && len(r.rest) > 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return written, err
		}
	}
}

// Wait waits for the requests that are under way. Nothing ends them but the source.
func (r *Reader) Wait() { r.requests.Wait() }

// fill waits for the next range if everything has been read.
func (r *Reader) fill() error {
	if len(r.rest) > 0 || r.err != nil {
		return r.err
	}
	r.request()
	if len(r.ahead) == 0 {
		r.err = io.EOF
		return r.err
	}
	first := r.ahead[0]
	<-first.done
	if r.err = first.err; r.err != nil {
		return r.err
	}
	r.ahead = r.ahead[1:]
	r.rest, r.used = first.data, first.data
	return nil
}

// request requests ranges: one more each time, up to the limit, so that the beginning of a file costs little.
func (r *Reader) request() {
	count := min(r.count, r.config.Parallel) + 1
	for len(r.ahead) < count && r.next < r.end {
		begin, size := r.next, r.config.First
		if r.count > 0 {
			size = r.config.Size - begin%r.config.Size
		}
		size = min(size, r.end-begin)
		s := &segment{done: make(chan struct{})}
		if int64(cap(r.used)) >= size {
			s.data, r.used = r.used[:size], nil
		} else {
			s.data = make([]byte, size)
		}
		r.next += size
		r.count++
		r.ahead = append(r.ahead, s)
		r.requests.Go(func() {
			defer close(s.done)
			if _, s.err = io.ReadFull(io.NewSectionReader(r.src, begin, size), s.data); s.err == io.EOF {
				s.err = io.ErrUnexpectedEOF
			}
		})
	}
}
