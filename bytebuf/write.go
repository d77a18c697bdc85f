package bytebuf

import (
	"bytes"
	"errors"
	"io"
	"math"
	"unicode/utf8"
)

// ErrTooLarge is the value of the panic if memory cannot be allocated. It is [bytes.ErrTooLarge] itself, so programs
// that recover from it need no change.
var ErrTooLarge = bytes.ErrTooLarge

var errNegativeRead = errors.New("bytebuf.Buffer: reader returned negative count from Read")

// MinRead is the minimum space that [Buffer.ReadFrom] passes to a Read. A Buffer with this much space beyond the
// reader's data does not grow.
const MinRead = 512

// Grow makes room for n more bytes, which can then be written without an allocation. It panics if n is negative, and
// with [ErrTooLarge] if there is not enough memory.
func (b *Buffer) Grow(n int) {
	if n < 0 {
		panic("bytebuf.Buffer.Grow: negative count")
	}
	b.grow(n)
}

// Extend appends n bytes and returns them for the caller to set. The bytes are not cleared: drop unset bytes with
// [Buffer.Truncate]. The slice is valid until the next call of a method that changes the Buffer. Extend panics if
// n is negative, and with [ErrTooLarge] if the Buffer becomes too large.
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

// Write appends p. It returns len(p) and nil, and panics with [ErrTooLarge] if the Buffer becomes too large.
func (b *Buffer) Write(p []byte) (n int, err error) {
	b.lastRead = opInvalid
	if len(p) > 0 {
		copy(b.extend(len(p)), p)
	}
	return len(p), nil
}

// WriteString appends s. It returns len(s) and nil, and panics with [ErrTooLarge] if the Buffer becomes too large.
func (b *Buffer) WriteString(s string) (n int, err error) {
	b.lastRead = opInvalid
	if len(s) > 0 {
		copy(b.extend(len(s)), s)
	}
	return len(s), nil
}

// WriteByte appends c. It returns nil, and panics with [ErrTooLarge] if the Buffer becomes too large.
func (b *Buffer) WriteByte(c byte) error {
	b.lastRead = opInvalid
	b.extend(1)[0] = c
	return nil
}

// WriteRune appends the UTF-8 encoding of r, or of U+FFFD if r is not a code point. It returns the number of bytes and
// nil, and panics with [ErrTooLarge] if the Buffer becomes too large.
func (b *Buffer) WriteRune(r rune) (n int, err error) {
	if 0 <= r && r < utf8.RuneSelf {
		return 1, b.WriteByte(byte(r))
	}
	b.lastRead = opInvalid
	n = utf8.EncodeRune(b.extend(utf8.UTFMax), r)
	b.buf = b.buf[:len(b.buf)-utf8.UTFMax+n]
	return n, nil
}

// ReadFrom appends the data of r until io.EOF. It returns the number of bytes and any error of r except io.EOF. It
// panics if r returns a negative count, and with [ErrTooLarge] if the Buffer becomes too large. It does not return
// while r returns neither bytes nor an error.
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

// extend appends n bytes and returns them. Most writes make no other call, so that they can be inlined.
func (b *Buffer) extend(n int) []byte {
	l := len(b.buf)
	if n > cap(b.buf)-l {
		l = b.grow(n)
	}
	b.buf = b.buf[:l+n]
	return b.buf[l:]
}

// grow makes room for n bytes after the content and returns their index.
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
		// Move the content down, but only if half of the memory will be free. Otherwise the next move would follow
		// soon.
		copy(b.buf, b.buf[b.off:])
	case c > math.MaxInt-c-n:
		panic(ErrTooLarge)
	default:
		b.replace(max(2*c, m+n, bootstrapSize))
	}
	b.buf, b.off = b.buf[:m], 0
	return m
}

// replace moves the content to the beginning of new memory of at least n bytes.
func (b *Buffer) replace(n int) {
	next := obtain(n)
	copy(next, b.buf[b.off:])
	if b.memory == owned {
		release(b.buf)
	}
	b.buf, b.memory = next, owned
}
