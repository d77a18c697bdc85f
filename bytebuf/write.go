package bytebuf

import (
	"bytes"
	"errors"
	"io"
	"math"
	"unicode/utf8"
)

// ErrTooLarge is the value with which methods that write panic if the content does not fit into memory. It is
// [bytes.ErrTooLarge] itself, so programs that recover from that need no change.
var ErrTooLarge = bytes.ErrTooLarge

var errNegativeRead = errors.New("bytebuf.Buffer: reader returned negative count from Read")

// MinRead is the least room that [Buffer.ReadFrom] offers to a Read. A Buffer that has as much room behind the content
// of the reader does not grow.
const MinRead = 512

// Grow makes room for n more bytes, so that writing them needs no more memory. It panics if n is negative, and with
// [ErrTooLarge] if there cannot be as much room.
func (b *Buffer) Grow(n int) {
	if n < 0 {
		panic("bytebuf.Buffer.Grow: negative count")
	}
	b.grow(n)
}

// Extend makes the content n bytes longer and gives the new bytes, for the caller to set: until then they are whatever
// the memory was last used for, so those that are not set must be dropped with [Buffer.Truncate]. The slice is valid
// until the next method that changes the Buffer. Extend panics if n is negative, and with [ErrTooLarge] if the Buffer
// gets too large.
func (b *Buffer) Extend(n int) []byte {
	if n < 0 {
		panic("bytebuf.Buffer.Extend: negative count")
	}
	b.lastRead = opInvalid
	if n == 0 {
		return nil
	}
	b.extend(n)
	b.expose()
	return b.buf[len(b.buf)-n:]
}

// Write appends p. It returns len(p) and nil; it panics with [ErrTooLarge] if the Buffer gets too large.
func (b *Buffer) Write(p []byte) (n int, err error) {
	b.lastRead = opInvalid
	if len(p) > 0 {
		copy(b.extend(len(p)), p)
	}
	return len(p), nil
}

// WriteString appends s. It returns len(s) and nil; it panics with [ErrTooLarge] if the Buffer gets too large.
func (b *Buffer) WriteString(s string) (n int, err error) {
	b.lastRead = opInvalid
	if len(s) > 0 {
		copy(b.extend(len(s)), s)
	}
	return len(s), nil
}

// WriteByte appends c. It returns nil; it panics with [ErrTooLarge] if the Buffer gets too large.
func (b *Buffer) WriteByte(c byte) error {
	b.lastRead = opInvalid
	b.extend(1)[0] = c
	return nil
}

// WriteRune appends the UTF-8 of r, or of U+FFFD if r is no code point. It returns the number of bytes and nil; it
// panics with [ErrTooLarge] if the Buffer gets too large.
func (b *Buffer) WriteRune(r rune) (n int, err error) {
	if 0 <= r && r < utf8.RuneSelf {
		return 1, b.WriteByte(byte(r))
	}
	b.lastRead = opInvalid
	n = utf8.EncodeRune(b.extend(utf8.UTFMax), r)
	b.buf = b.buf[:len(b.buf)-utf8.UTFMax+n]
	return n, nil
}

// ReadFrom appends what r gives until io.EOF, and returns the number of bytes and the error of r, if it is another. It
// panics if r returns a negative count, and with [ErrTooLarge] if the Buffer gets too large. It goes on as long as r
// returns neither bytes nor an error.
func (b *Buffer) ReadFrom(r io.Reader) (n int64, err error) {
	b.lastRead = opInvalid
	for {
		i := b.grow(MinRead)
		memory := b.pass()
		m, err := r.Read(b.buf[i:cap(b.buf)])
		b.passBack(memory)
		if m < 0 {
			panic(errNegativeRead)
		}
		b.buf = b.buf[:i+m]
		n += int64(m)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// extend makes the content n bytes longer and gives the new ones. Most writes make no other call, so that they can be
// inlined.
func (b *Buffer) extend(n int) []byte {
	l := len(b.buf)
	if n > cap(b.buf)-l {
		l = b.grow(n)
	}
	b.buf = b.buf[:l+n]
	return b.buf[l:]
}

// grow makes room for n bytes behind the content and gives the index where they begin.
func (b *Buffer) grow(n int) int {
	m := b.Len()
	if m == 0 && b.off != 0 {
		b.Reset()
	}
	c := cap(b.buf)
	switch {
	case n <= c-len(b.buf):
		return len(b.buf)
	case n <= c/2-m:
		// To move the content down is enough. It is done only if half of the memory will be free, since otherwise it
		// would have to be done again soon.
		copy(b.buf, b.buf[b.off:])
	case c > math.MaxInt-c-n:
		panic(ErrTooLarge)
	default:
		b.replace(max(2*c, m+n, bootstrapSize))
	}
	b.buf, b.off = b.buf[:m], 0
	return m
}

// replace moves the content to the beginning of a new memory of at least n bytes.
func (b *Buffer) replace(n int) {
	next := obtain(n)
	copy(next, b.buf[b.off:])
	if b.memory == owned {
		release(b.buf)
	}
	b.buf, b.memory = next, owned
}
