package strictio_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"culvert/internal/strictio"
)

// result is a reader, source and writer that returns what it is told to.
type result struct {
	n   int
	err error
}

func (r result) Read([]byte) (int, error)          { return r.n, r.err }
func (r result) ReadAt([]byte, int64) (int, error) { return r.n, r.err }
func (r result) Write([]byte) (int, error)         { return r.n, r.err }

var errBroken = errors.New("broken")

func TestReader(t *testing.T) {
	text := strings.Repeat("text", 1000)
	if err := iotest.TestReader(&strictio.Reader{R: strings.NewReader(text)}, []byte(text)); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		src  io.Reader
		want error
	}{
		{result{n: -1}, strictio.ErrCount},
		{result{n: 11}, strictio.ErrCount},
		{result{}, io.ErrNoProgress},
		{io.MultiReader(strings.NewReader("x"), result{}), io.ErrNoProgress},
		{result{err: errBroken}, errBroken},
	} {
		r, err := strictio.Reader{R: c.src}, error(nil)
		for p := make([]byte, 10); err == nil; {
			_, err = r.Read(p)
		}
		if err != c.want {
			t.Errorf("%v: error is %v, want %v", c.src, err, c.want)
		}
	}
}

func TestReadFullAt(t *testing.T) {
	text := []byte("0123456789")
	for _, c := range []struct {
		src  io.ReaderAt
		n    int
		want error
	}{
		{bytes.NewReader(text), 5, nil},
		{bytes.NewReader(text[:8]), 3, io.EOF},
		{shortReads{bytes.NewReader(text)}, 5, nil},
		{shortReads{bytes.NewReader(text[:8])}, 3, io.EOF},
		{result{n: 5, err: io.EOF}, 5, nil},
		{result{n: 2, err: errBroken}, 2, errBroken},
		{result{}, 0, io.ErrNoProgress},
		{result{n: -1}, 0, strictio.ErrCount},
		{result{n: 6}, 0, strictio.ErrCount},
	} {
		n, err := strictio.ReadFullAt(c.src, make([]byte, 5), 5)
		if n != c.n || err != c.want {
			t.Errorf("%v: %d, %v, want %d, %v", c.src, n, err, c.n, c.want)
		}
	}
}

// shortReads returns one byte at a time, without an error.
type shortReads struct{ io.ReaderAt }

func (s shortReads) ReadAt(p []byte, off int64) (int, error) { return s.ReaderAt.ReadAt(p[:1], off) }

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		dst  result
		n    int
		want error
	}{
		{result{n: 5}, 5, nil},
		{result{n: 4}, 4, io.ErrShortWrite},
		{result{n: 4, err: errBroken}, 4, errBroken},
		{result{n: 6}, 0, strictio.ErrCount},
		{result{n: -1}, 0, strictio.ErrCount},
	} {
		n, err := strictio.Write(c.dst, make([]byte, 5))
		if n != c.n || err != c.want {
			t.Errorf("%+v: %d, %v, want %d, %v", c.dst, n, err, c.n, c.want)
		}
	}
}
