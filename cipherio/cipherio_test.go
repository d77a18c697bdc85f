package cipherio_test

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"culvert/cipherio"
)

// The documented sizes: up to scratchSize a Write makes one Write below, and up to smallSize it takes less memory.
const (
	scratchSize = 64 << 10
	smallSize   = 4 << 10
)

// newStream returns the same stream each time.
func newStream() cipher.Stream {
	block, err := aes.NewCipher([]byte("an AES-256 key for the tests: 32"))
	if err != nil {
		panic(err)
	}
	return cipher.NewCTR(block, make([]byte, aes.BlockSize))
}

// randomBytes returns the same n bytes each time.
func randomBytes(n int) []byte {
	p := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(p)
	return p
}

// encrypted returns p after newStream.
func encrypted(p []byte) []byte {
	out := make([]byte, len(p))
	newStream().XORKeyStream(out, p)
	return out
}

// outcome tells what a Write or Read came to, also if that is a panic.
func outcome(f func() (int, error)) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint("panic: ", v)
		}
	}()
	n, err := f()
	return fmt.Sprintf("%d, %v", n, err)
}

// TestTypes holds ours to the fields and the methods of the original. A method more would matter: with a ReadFrom,
// io.Copy would no longer choose the sizes of the writes.
func TestTypes(t *testing.T) {
	// Types whose fields differ in name, type or order do not convert.
	_ = cipherio.StreamWriter(cipher.StreamWriter{})

	for _, c := range []struct{ ours, original reflect.Type }{
		{reflect.TypeFor[cipherio.StreamWriter](), reflect.TypeFor[cipher.StreamWriter]()},
		{reflect.TypeFor[*cipherio.StreamWriter](), reflect.TypeFor[*cipher.StreamWriter]()},
	} {
		if ours, original := methods(c.ours), methods(c.original); !reflect.DeepEqual(ours, original) {
			t.Errorf("%v has the methods %v, the original has %v", c.ours, ours, original)
		}
	}
}

func methods(typ reflect.Type) []string {
	var names []string
	for i := range typ.NumMethod() {
		names = append(names, typ.Method(i).Name)
	}
	return names
}

// TestNil gives nothing where there must be a stream, a writer or a reader.
func TestNil(t *testing.T) {
	for _, p := range [][]byte{nil, make([]byte, 1), make([]byte, scratchSize+1)} {
		for name, c := range map[string]struct {
			ours, original func([]byte) (int, error)
		}{
			"writer without S": {
				cipherio.StreamWriter{W: io.Discard}.Write,
				cipher.StreamWriter{W: io.Discard}.Write,
			},
			"writer without W": {
				cipherio.StreamWriter{S: newStream()}.Write,
				cipher.StreamWriter{S: newStream()}.Write,
			},
			"reader without S": {
				cipherio.StreamReader{R: zeros{}}.Read,
				cipher.StreamReader{R: zeros{}}.Read,
			},
			"reader without R": {
				cipherio.StreamReader{S: newStream()}.Read,
				cipher.StreamReader{S: newStream()}.Read,
			},
		} {
			got := outcome(func() (int, error) { return c.ours(p) })
			want := outcome(func() (int, error) { return c.original(p) })
			if got != want {
				t.Errorf("%s, %d bytes: %s; the original: %s", name, len(p), got, want)
			}
		}
	}
}

// zeros is a reader without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
