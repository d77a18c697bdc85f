package readahead_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"culvert/internal/readahead"
)

func random(n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(p)
	return p
}

// source records the ranges that are read.
type source struct {
	io.ReaderAt
	mu     sync.Mutex
	ranges map[int64]int
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	s.ranges[off] += len(p)
	s.mu.Unlock()
	return s.ReaderAt.ReadAt(p, off)
}

func newSource(content []byte) *source {
	return &source{ReaderAt: bytes.NewReader(content), ranges: map[int64]int{}}
}

func TestReader(t *testing.T) {
	for _, size := range []int{0, 1, 9, 10, 11, 99, 100, 101, 110, 200, 1234} {
		for _, begin := range []int{0, 1, 95, 100} {
			if begin > size {
				continue
			}
			content := random(size)
			for _, parallel := range []int{1, 3} {
				config := readahead.Config{First: 10, Size: 100, Parallel: parallel}
				open := func() *readahead.Reader {
					return config.NewReader(newSource(content), int64(begin), int64(size))
				}
				if err := iotest.TestReader(struct{ io.Reader }{open()}, content[begin:]); err != nil {
					t.Errorf("size %d from %d: %v", size, begin, err)
				}
				var written bytes.Buffer
				n, err := open().WriteTo(&written)
				if err != nil || n != int64(size-begin) || !bytes.Equal(written.Bytes(), content[begin:]) {
					t.Errorf("size %d from %d: WriteTo has written %d bytes, %v", size, begin, n, err)
				}
			}
		}
	}
}

func TestRangesAreAligned(t *testing.T) {
	src := newSource(random(350))
	r := readahead.Config{First: 10, Size: 100, Parallel: 2}.NewReader(src, 0, 350)
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	want := map[int64]int{0: 10, 10: 90, 100: 100, 200: 100, 300: 50}
	if fmt.Sprint(src.ranges) != fmt.Sprint(want) {
		t.Errorf("the ranges are %v, want %v", src.ranges, want)
	}
}

// The first byte costs one small range. Later, some ranges are requested before they are needed, and no more.
func TestHowFarAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(random(2000))
		r := readahead.Config{First: 10, Size: 100, Parallel: 3}.NewReader(src, 0, 2000)
		for i, want := range []int{1, 3, 6, 7, 8} {
			if _, err := io.ReadFull(r, make([]byte, []int{10, 90, 100, 100, 100}[i])); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			src.mu.Lock()
			if len(src.ranges) != want {
				t.Errorf("after %d ranges, %d were requested, want %d", i+1, len(src.ranges), want)
			}
			src.mu.Unlock()
		}
		r.Wait()
	})
}

func TestErrorsComeInTheirPlace(t *testing.T) {
	broken := errors.New("broken")
	src := failsAt{bytes.NewReader(random(1000)), 400, broken}
	r := readahead.Config{First: 10, Size: 100, Parallel: 3}.NewReader(src, 0, 1000)
	n, err := io.Copy(io.Discard, r)
	if n != 400 || !errors.Is(err, broken) {
		t.Errorf("%d bytes and %v, want 400 and the error of the source", n, err)
	}
	if _, again := r.Read(make([]byte, 1)); again != err {
		t.Errorf("the error became %v", again)
	}
	r = readahead.Config{First: 10, Size: 100, Parallel: 3}.NewReader(bytes.NewReader(random(150)), 0, 1000)
	if n, err := io.Copy(io.Discard, r); n != 100 || err != io.ErrUnexpectedEOF {
		t.Errorf("%d bytes of a short source and %v, want 100 and unexpected EOF", n, err)
	}
}

type failsAt struct {
	io.ReaderAt
	at  int64
	err error
}

func (f failsAt) ReadAt(p []byte, off int64) (int, error) {
	if off >= f.at {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, off)
}

func Example() {
	src := strings.NewReader("a file of a server that is far away")
	r := readahead.Config{First: 4, Size: 16, Parallel: 2}.NewReader(src, 2, src.Size())
	_, _ = io.Copy(os.Stdout, r)
	// Output: file of a server that is far away
}
