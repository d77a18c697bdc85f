package cipherio_test

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"culvert/cipherio"
	"culvert/internal/testkit"
)

func TestReader(t *testing.T) {
	plaintext := randomBytes(10_000)
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole":    func(r io.Reader) io.Reader { return r },
		"one byte": iotest.OneByteReader,
		"half":     iotest.HalfReader,
		// One stream and its inverse.
		"nested": func(r io.Reader) io.Reader {
			return cipherio.StreamReader{S: newStream(), R: cipherio.StreamReader{S: newStream(), R: r}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := cipherio.StreamReader{S: newStream(), R: wrap(bytes.NewReader(encrypted(plaintext)))}
			if err := iotest.TestReader(r, plaintext); err != nil {
				t.Error(err)
			}
		})
	}
	// Not for TestReader, whose empty reads that one does not survive.
	t.Run("EOF with the last bytes", func(t *testing.T) {
		r := cipherio.StreamReader{
			S: newStream(),
			R: iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(encrypted(plaintext)))),
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plaintext) {
			t.Errorf("got %d bytes and %v, or they differ", len(got), err)
		}
	})
}

// TestReaderFaults gives the error of the reader below, after the bytes before it.
func TestReaderFaults(t *testing.T) {
	plaintext := randomBytes(1000)
	errBelow := errors.New("reader: gone")
	r := cipherio.StreamReader{S: newStream(), R: io.MultiReader(
		bytes.NewReader(encrypted(plaintext)), iotest.ErrReader(errBelow),
	)}
	got, err := io.ReadAll(r)
	if err != errBelow || !bytes.Equal(got, plaintext) {
		t.Errorf("got %d bytes and %v, want all and %v", len(got), err, errBelow)
	}

	slow := cipherio.StreamReader{
		S: newStream(),
		R: iotest.TimeoutReader(iotest.HalfReader(bytes.NewReader(encrypted(plaintext)))),
	}
	p := make([]byte, 100)
	first, err := slow.Read(p)
	if first != 50 || err != nil {
		t.Fatalf("first read: %d, %v", first, err)
	}
	if n, err := slow.Read(p[first:]); n != 0 || err != iotest.ErrTimeout {
		t.Fatalf("second read: %d, %v; want %v", n, err, iotest.ErrTimeout)
	}
	if _, err := io.ReadFull(slow, p[first:]); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p, plaintext[:len(p)]) {
		t.Error("the stream is out of step after a read that failed without bytes")
	}
}

// liar fills p and returns what it is told to.
type liar struct {
	n   int
	err error
}

func (l liar) Read(p []byte) (int, error) {
	clear(p)
	return l.n, l.err
}

// TestBrokenReaders compares with the original on readers that no reader should be like. A count between the length
// and the capacity does not panic: what lies behind dst is decrypted too.
func TestBrokenReaders(t *testing.T) {
	const size, capacity = 16, 32
	for _, n := range []int{0, 1, size, size + 1, capacity, capacity + 1, 1 << 30, -1} {
		for _, err := range []error{nil, io.EOF, io.ErrUnexpectedEOF} {
			ours, original := make([]byte, capacity), make([]byte, capacity)
			got := outcome(func() (int, error) {
				return cipherio.StreamReader{S: newStream(), R: liar{n, err}}.Read(ours[:size])
			})
			want := outcome(func() (int, error) {
				return cipher.StreamReader{S: newStream(), R: liar{n, err}}.Read(original[:size])
			})
			if got != want || !bytes.Equal(ours, original) {
				t.Errorf("a reader that returns %d, %v: %s and %x; the original: %s and %x",
					n, err, got, ours, want, original)
			}
		}
	}
	// A reader that never gets on makes none of this loop: that is left to the caller, and to limits such as bufio's.
	r := cipherio.StreamReader{S: newStream(), R: liar{0, nil}}
	for range 3 {
		if n, err := r.Read(make([]byte, size)); n != 0 || err != nil {
			t.Errorf("got %d, %v; want 0, nil", n, err)
		}
	}
}

func TestReadsAsTheOriginal(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	text := randomBytes(3 * scratchSize)
	ours := cipherio.StreamReader{S: newStream(), R: bytes.NewReader(text)}
	original := cipher.StreamReader{S: newStream(), R: bytes.NewReader(text)}
	for {
		size := random.IntN(1 << random.IntN(18))
		p, q := make([]byte, size), make([]byte, size)
		n, err := ours.Read(p)
		if m, originalErr := original.Read(q); n != m || err != originalErr || !bytes.Equal(p, q) {
			t.Fatalf("read of %d: %d, %v; the original: %d, %v; or they differ in bytes", size, n, err, m, originalErr)
		}
		if err == io.EOF {
			break
		}
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	for _, size := range []int{0, 1, 240, 4096, 1 << 20} {
		t.Run(fmt.Sprintf("size=%d", size), func(t *testing.T) {
			r := cipherio.StreamReader{S: newStream(), R: zeros{}}
			p := make([]byte, size)
			testkit.Allocs(t, 0, func() {
				if _, err := r.Read(p); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
