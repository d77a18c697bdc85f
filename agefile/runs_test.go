package agefile_test

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"culvert/agefile"
)

// countingAt counts what is read of a source, and can make it slow, or fail.
type countingAt struct {
	io.ReaderAt
	delay time.Duration // of each call
	rate  time.Duration // of each byte
	fails func(off, end int64) error

	mu    sync.Mutex
	calls int
	bytes int64
}

func (c *countingAt) ReadAt(p []byte, off int64) (int, error) {
	delay := c.delay + c.rate*time.Duration(len(p))
	time.Sleep(delay) //nolint:forbidigo // in a synctest bubble, which has a clock of its own
	c.mu.Lock()
	c.calls++
	c.bytes += int64(len(p))
	c.mu.Unlock()
	if c.fails != nil {
		if err := c.fails(off, off+int64(len(p))); err != nil {
			return 0, err
		}
	}
	return c.ReaderAt.ReadAt(p, off)
}

// openCounting returns a file of that many spans, its content, and the count of what is read of it from then on.
func openCounting(t *testing.T, spans int, delay, rate time.Duration) (*agefile.ReaderAt, []byte, *countingAt) {
	t.Helper()
	key, plain := random(32), random(spans*span)
	sealed := encryptPayload(t, plain, key)
	src := &countingAt{ReaderAt: bytes.NewReader(sealed), delay: delay, rate: rate}
	r, err := agefile.PayloadReaderAt(src, int64(len(sealed)), key, 2)
	if err != nil {
		t.Fatal(err)
	}
	src.calls, src.bytes = 0, 0
	return r, plain, src
}

// readRun reads a whole file in order, in requests that do not end where chunks do, by several readers.
func readRun(t *testing.T, r *agefile.ReaderAt, plain []byte, readers int) {
	t.Helper()
	const step = 3*chunk + 777
	var mu sync.Mutex
	next := 0
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			got := make([]byte, step)
			for {
				mu.Lock()
				off := next
				next += step
				mu.Unlock()
				if off >= len(plain) {
					return
				}
				want := plain[off:min(off+step, len(plain))]
				if _, err := r.ReadAt(got[:len(want)], int64(off)); err != nil || !bytes.Equal(got[:len(want)], want) {
					t.Errorf("%d bytes at %d: error %v, or they differ", len(want), off, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestRunsShareSpans reads small parts one after the other, which are read from the source once, in large parts, even
// if the source is far away.
func TestRunsShareSpans(t *testing.T) {
	for _, from := range []struct {
		readers     int
		delay, rate time.Duration
	}{
		{1, time.Millisecond, 0},
		{3, time.Millisecond, 0},
		{1, time.Second, 0},
		{3, time.Second, 100 * time.Nanosecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			const spans = 30
			r, plain, src := openCounting(t, spans, from.delay, from.rate)
			readRun(t, r, plain, from.readers)
			// Before the run is recognized, chunks at the ends of requests are read twice.
			if most := int64(len(plain) + 2*span); src.calls > spans+8 || src.bytes > most {
				t.Errorf("%+v: %d calls for %d bytes, want at most %d for %d",
					from, src.calls, src.bytes, spans+8, most)
			}
		})
	}
}

// TestRunsOfSlowSources reads from a source that would take long for a whole span.
func TestRunsOfSlowSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, plain, src := openCounting(t, 3, 10*time.Millisecond, 10*time.Microsecond)
		readRun(t, r, plain, 1)
		if most := int64(5*(chunk+16)) * int64(src.calls); src.bytes > most {
			t.Errorf("%d calls for %d bytes, want at most %d", src.calls, src.bytes, most)
		}
	})
}

// TestDistantReads reads no more than the chunks that it needs.
func TestDistantReads(t *testing.T) {
	r, plain, src := openCounting(t, 60, 0, 0)
	got := make([]byte, 100)
	for i := range 40 {
		off := (i * 37 % 60) * span
		if _, err := r.ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, plain[off:][:100]) {
			t.Fatalf("at %d: error %v, or the bytes differ", off, err)
		}
	}
	if most := int64(40 * (chunk + 16)); src.bytes > most {
		t.Errorf("%d bytes, want at most %d", src.bytes, most)
	}
}

// TestDamageInRun damages a chunk, whose neighbours can still be read, in a run as well.
func TestDamageInRun(t *testing.T) {
	key, plain := random(32), random(6*span)
	sealed := encryptPayload(t, plain, key)
	const damaged = 3*16 + 5 // a chunk
	sealed[damaged*(chunk+16)+100] ^= 1
	r, err := agefile.PayloadReaderAt(bytes.NewReader(sealed), int64(len(sealed)), key, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, chunk)
	for off := 0; off < len(plain); off += chunk {
		n, err := r.ReadAt(got, int64(off))
		switch {
		case off == damaged*chunk:
			if n != 0 || !errors.Is(err, agefile.ErrCorrupt) {
				t.Errorf("the damaged chunk: %d bytes, %v", n, err)
			}
		case err != nil || !bytes.Equal(got, plain[off:][:chunk]):
			t.Errorf("at %d: error %v, or the bytes differ", off, err)
		}
	}
	// A read that begins before the damage returns what is before it.
	if n, err := r.ReadAt(make([]byte, 6*span), 0); n != damaged*chunk || !errors.Is(err, agefile.ErrCorrupt) {
		t.Errorf("%d bytes, error %v, want %d", n, err, damaged*chunk)
	}
}

// TestFailingSourceInRun fails while several readers share a span. Each gets the error, and later reads succeed.
func TestFailingSourceInRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, plain, src := openCounting(t, 8, time.Millisecond, 0)
		got := make([]byte, 2*span)
		if _, err := r.ReadAt(got, 0); err != nil {
			t.Fatal(err)
		}
		failure := errors.New("the source fails")
		src.fails = func(int64, int64) error { return failure }
		src.calls = 0
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				if n, err := r.ReadAt(make([]byte, 100), int64(2*span+i*chunk)); n != 0 || !errors.Is(err, failure) {
					t.Errorf("%d bytes, error %v", n, err)
				}
			})
		}
		wg.Wait()
		if src.calls != 1 {
			t.Errorf("%d calls for one span", src.calls)
		}
		src.fails = nil
		readRun(t, r, plain, 2)
	})
}

// TestPanicInRun panics while others wait for the same span. They read it themselves.
func TestPanicInRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, plain, src := openCounting(t, 8, time.Millisecond, 0)
		if _, err := r.ReadAt(make([]byte, 2*span), 0); err != nil {
			t.Fatal(err)
		}
		panics := true
		src.fails = func(int64, int64) error {
			if panics {
				panics = false
				panic("the source panics")
			}
			return nil
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		recovered := 0
		for i := range 4 {
			wg.Go(func() {
				defer func() {
					if recover() != nil {
						mu.Lock()
						recovered++
						mu.Unlock()
					}
				}()
				got := make([]byte, 100)
				off := 2*span + i*chunk
				if _, err := r.ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, plain[off:][:100]) {
					t.Errorf("at %d: error %v, or the bytes differ", off, err)
				}
			})
		}
		wg.Wait()
		if recovered != 1 {
			t.Errorf("%d readers panicked", recovered)
		}
		readRun(t, r, plain, 2)
	})
}

// TestView views what lies within a span, and nothing else.
func TestView(t *testing.T) {
	key, plain := random(32), random(3*span+1000)
	sealed := encryptPayload(t, plain, key)
	const damaged = 20 // a chunk
	sealed[damaged*(chunk+16)+100] ^= 1
	r, err := agefile.PayloadReaderAt(bytes.NewReader(sealed), int64(len(sealed)), key, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		off, size int
		seen      bool
		err       error
	}{
		{0, 1, true, nil},
		{0, span, true, nil},
		{100, 3 * chunk, true, nil},
		{3 * span, 1000, true, nil},
		{2*span - 10, 10, true, nil},
		{2*span - 10, 11, false, nil},
		{0, span + 1, false, nil},
		{3 * span, 1001, false, nil},
		{len(plain), 1, false, nil},
		{-1, 1, false, nil},
		{0, 0, false, nil},
		{0, -1, false, nil},
		{damaged * chunk, 1, false, agefile.ErrCorrupt},
		{(damaged - 1) * chunk, 2 * chunk, false, agefile.ErrCorrupt},
		{(damaged + 1) * chunk, chunk, true, nil},
	} {
		called := false
		seen, err := r.View(int64(test.off), test.size, func(p []byte) {
			called = true
			if !bytes.Equal(p, plain[test.off:][:test.size]) {
				t.Errorf("%d bytes at %d differ", test.size, test.off)
			}
		})
		if seen != test.seen || called != seen || !errors.Is(err, test.err) {
			t.Errorf("%d bytes at %d: %t, called %t, error %v", test.size, test.off, seen, called, err)
		}
	}
	var zero agefile.ReaderAt
	if _, err := zero.View(0, 1, func([]byte) {}); err == nil {
		t.Error("a zero ReaderAt has a view")
	}
}
