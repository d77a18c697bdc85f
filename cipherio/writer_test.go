package cipherio_test

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"culvert/cipherio"
	"culvert/internal/testkit"
)

var errSink = errors.New("sink: full")

// sink is a writer that notes what it is given and answers as it is told to.
type sink struct {
	answers []answer // to the next writes; after them it takes all
	pieces  [][]byte // given to it, one for each Write
	spare   bool     // it was given capacity beyond the length
}

// answer is the result of a Write: so many bytes more than it was given, and an error.
type answer struct {
	more int
	err  error
}

func (s *sink) Write(p []byte) (int, error) {
	s.pieces = append(s.pieces, bytes.Clone(p))
	s.spare = s.spare || cap(p) > len(p)
	if len(s.answers) == 0 {
		return len(p), nil
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return len(p) + a.more, a.err
}

func (s *sink) sizes() []int {
	sizes := make([]int, len(s.pieces))
	for i, p := range s.pieces {
		sizes[i] = len(p)
	}
	return sizes
}

// pair is ours and the original, each on a sink of its own.
type pair struct {
	ours, original         io.Writer
	oursSink, originalSink sink
}

func newPair() *pair {
	p := new(pair)
	p.ours = cipherio.StreamWriter{S: newStream(), W: &p.oursSink}
	p.original = cipher.StreamWriter{S: newStream(), W: &p.originalSink}
	return p
}

// write does one Write of both, whose sinks give this answer, and compares. Above the size of the scratch, where the
// original still makes one write below, the answer must be the one of a good writer.
func (p *pair) write(t *testing.T, src []byte, a answer) {
	t.Helper()
	p.oursSink.pieces, p.originalSink.pieces = nil, nil
	p.oursSink.answers, p.originalSink.answers = nil, nil
	if a != (answer{}) {
		p.oursSink.answers, p.originalSink.answers = []answer{a}, []answer{a}
	}
	before := bytes.Clone(src)
	got := outcome(func() (int, error) { return p.ours.Write(src) })
	want := outcome(func() (int, error) { return p.original.Write(src) })
	if got != want {
		t.Fatalf("write of %d bytes, answered %+v: %s; the original: %s", len(src), a, got, want)
	}
	if !bytes.Equal(src, before) {
		t.Fatalf("a write of %d bytes has changed them", len(src))
	}
	if got, want := p.oursSink.sizes(), pieceSizes(len(src)); !slices.Equal(got, want) {
		t.Fatalf("a write of %d bytes became %d, want %d", len(src), got, want)
	}
	if !bytes.Equal(slices.Concat(p.oursSink.pieces...), slices.Concat(p.originalSink.pieces...)) {
		t.Fatalf("a write of %d bytes gave other bytes than the original", len(src))
	}
	if p.oursSink.spare {
		t.Fatalf("a write of %d bytes gave away capacity beyond its length", len(src))
	}
}

// pieceSizes is what the documentation says about the writes below.
func pieceSizes(n int) []int {
	var sizes []int
	for n > scratchSize {
		sizes = append(sizes, scratchSize)
		n -= scratchSize
	}
	return append(sizes, n)
}

func TestWritesAsTheOriginal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	src := randomBytes(3*scratchSize + 1)
	t.Run("edges", func(t *testing.T) {
		p := newPair()
		for _, size := range []int{
			0, 1, 15, 16, 17, 0, 240, smallSize - 1, smallSize, smallSize + 1,
			scratchSize - 1, scratchSize, 0, scratchSize + 1,
			2*scratchSize - 1, 2 * scratchSize, 2*scratchSize + 1, 3 * scratchSize, 1, 3*scratchSize + 1,
		} {
			p.write(t, src[:size], answer{})
		}
	})
	t.Run("random", func(t *testing.T) {
		p := newPair()
		for range 300 {
			from := random.IntN(len(src))
			size := min(random.IntN(1<<random.IntN(19)), len(src)-from)
			p.write(t, src[from:from+size], answer{})
		}
	})
	t.Run("broken writers", func(t *testing.T) {
		for _, size := range []int{0, 1, 240, smallSize, smallSize + 1, scratchSize} {
			for _, more := range []int{0, -1, 1, -size, -size - 1, size, 1 << 30} {
				for _, err := range []error{nil, errSink, io.EOF} {
					p := newPair()
					p.write(t, src[:240], answer{})
					p.write(t, src[:size], answer{more, err})
					p.write(t, src[:240], answer{}) // both are out of step in the same way
				}
			}
		}
	})
}

// TestFaultsInPieces is about large writes, which the original does in one.
func TestFaultsInPieces(t *testing.T) {
	src := randomBytes(3*scratchSize + 100)
	for _, c := range []struct {
		name    string
		answers []answer
		n       int
		err     error
		pieces  int
	}{
		{"fails at once", []answer{{-scratchSize, errSink}}, 0, errSink, 1},
		{"fails after all of a piece", []answer{{0, errSink}}, scratchSize, errSink, 1},
		{"fails in the second", []answer{{}, {-10, errSink}}, 2*scratchSize - 10, errSink, 2},
		{"is short in the first", []answer{{-1, nil}}, scratchSize - 1, io.ErrShortWrite, 1},
		{"is short in the third", []answer{{}, {}, {-1, nil}}, 3*scratchSize - 1, io.ErrShortWrite, 3},
		{"fails in the rest", []answer{{}, {}, {}, {-100, errSink}}, 3 * scratchSize, errSink, 4},
		{"fails when all is written", []answer{{}, {}, {}, {0, errSink}}, 3*scratchSize + 100, errSink, 4},
		{"claims too much", []answer{{}, {5, nil}}, 2*scratchSize + 5, io.ErrShortWrite, 2},
		{"claims a negative number", []answer{{}, {-scratchSize - 1, nil}}, scratchSize - 1, io.ErrShortWrite, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := &sink{answers: c.answers}
			n, err := cipherio.StreamWriter{S: newStream(), W: out}.Write(src)
			if n != c.n || err != c.err {
				t.Errorf("got %d, %v; want %d, %v", n, err, c.n, c.err)
			}
			if len(out.pieces) != c.pieces {
				t.Errorf("%d writes below, want %d and none after the fault", len(out.pieces), c.pieces)
			}
			if got := slices.Concat(out.pieces...); !bytes.Equal(got, encrypted(src)[:len(got)]) {
				t.Error("what was written up to the fault is not the beginning of the ciphertext")
			}
		})
	}
}

// TestNested stacks writers, whose writes are in progress at the same time, on one stream each.
func TestNested(t *testing.T) {
	src := randomBytes(5*scratchSize/2 + 7)
	var out bytes.Buffer
	const depth = 4 // even: the last decrypts what the first has encrypted
	var w io.Writer = &out
	for range depth {
		w = cipherio.StreamWriter{S: newStream(), W: w}
	}
	for _, size := range []int{0, 1, 240, smallSize + 1, scratchSize, len(src)} {
		out.Reset()
		n, err := w.Write(src[:size])
		if n != size || err != nil || !bytes.Equal(out.Bytes(), src[:size]) {
			t.Errorf("%d bytes through %d streams: %d, %v, or they differ", size, depth, n, err)
		}
	}
}

// TestPanicBelow loses nothing but the write: others neither wait nor share memory with the one that was given up.
func TestPanicBelow(t *testing.T) {
	var kept []byte
	keeper := writerFunc(func(p []byte) (int, error) {
		kept = p
		panic("keeper: no")
	})
	src := randomBytes(240)
	got := outcome(func() (int, error) { return cipherio.StreamWriter{S: newStream(), W: keeper}.Write(src) })
	if got != "panic: keeper: no" {
		t.Fatalf("got %s", got)
	}
	for range 10 {
		if _, err := (cipherio.StreamWriter{S: newStream(), W: io.Discard}).Write(make([]byte, 240)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(kept, encrypted(src)) {
		t.Error("what the writer had when it panicked was written over")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestIndependentWritersAtOnce(t *testing.T) {
	src := randomBytes(2*scratchSize + 1)
	want := encrypted(src)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(i)))
			for range 10 {
				var out bytes.Buffer
				w := cipherio.StreamWriter{S: newStream(), W: &out}
				for rest := src; len(rest) > 0; {
					n, err := w.Write(rest[:min(len(rest), random.IntN(1<<random.IntN(18)))])
					if err != nil {
						t.Error(err)
						return
					}
					rest = rest[n:]
				}
				if !bytes.Equal(out.Bytes(), want) {
					t.Error("the output is not that of one writer alone")
				}
			}
		})
	}
	wg.Wait()
}

type closer struct {
	io.Writer
	calls int
	err   error
}

func (c *closer) Close() error {
	c.calls++
	return c.err
}

func TestClose(t *testing.T) {
	if err := (cipherio.StreamWriter{W: io.Discard}).Close(); err != nil {
		t.Errorf("of a writer that cannot be closed: %v", err)
	}
	if err := (cipherio.StreamWriter{}).Close(); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	for _, want := range []error{nil, errSink} {
		c := &closer{err: want}
		w := cipherio.StreamWriter{W: c}
		if err := w.Close(); err != want || c.calls != 1 {
			t.Errorf("got %v after %d calls, want %v after one", err, c.calls, want)
		}
		// The original keeps no record of it either.
		if err := w.Close(); err != want || c.calls != 2 {
			t.Errorf("again: %v after %d calls, want %v after two", err, c.calls, want)
		}
	}
}

func TestWriteAllocatesNothing(t *testing.T) {
	src := randomBytes(1 << 20)
	for _, size := range []int{0, 1, 240, smallSize, smallSize + 1, scratchSize, scratchSize + 1, 1 << 20} {
		t.Run(fmt.Sprintf("size=%d", size), func(t *testing.T) {
			w := cipherio.StreamWriter{S: newStream(), W: io.Discard}
			testkit.Allocs(t, 0, func() {
				if _, err := w.Write(src[:size]); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("as an io.Writer, of many sizes", func(t *testing.T) {
		var w io.Writer = cipherio.StreamWriter{S: newStream(), W: io.Discard}
		testkit.Allocs(t, 0, func() {
			for size := range 5000 {
				if _, err := w.Write(src[:size]); err != nil {
					t.Error(err)
				}
			}
		})
	})
}

// TestRetention writes in 2,000 sizes that add up to 60 MB, each once, and which other tests have not used before.
func TestRetention(t *testing.T) {
	src := randomBytes(40_000)
	w := cipherio.StreamWriter{S: newStream(), W: io.Discard}
	before := liveHeap()
	for size := 20_000; size < len(src); size += 10 {
		if _, err := w.Write(src[:size]); err != nil {
			t.Fatal(err)
		}
	}
	after := liveHeap()
	runtime.KeepAlive(w)
	limit := int64(runtime.GOMAXPROCS(0)*(smallSize+scratchSize) + 1<<20)
	if grown := after - before; grown > limit {
		t.Errorf("%d bytes are kept after writes of 2,000 sizes, want at most %d", grown, limit)
	}
}

// liveHeap collects garbage once, which sync.Pool survives.
func liveHeap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
