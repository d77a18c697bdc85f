package bytebuf

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// readOp says what the last method was, as far as it can be unread: the size of the rune for ReadRune.
type readOp int8

const (
	opRead    readOp = -1 // any read but that of a rune
	opInvalid readOp = 0  // nothing that can be unread
)

var (
	errUnreadByte = errors.New("bytebuf.Buffer: UnreadByte: previous operation was not a successful read")
	errUnreadRune = errors.New("bytebuf.Buffer: UnreadRune: previous operation was not a successful ReadRune")
)

// empty says whether nothing is unread. A writer that changed the Buffer in the middle of WriteTo can leave a negative
// number of bytes.
func (b *Buffer) empty() bool { return len(b.buf) <= b.off }

// Read copies the next bytes to p and returns their number. Without any it returns io.EOF, unless p is empty.
func (b *Buffer) Read(p []byte) (n int, err error) {
	b.lastRead = opInvalid
	if b.empty() {
		b.Reset()
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n = copy(p, b.buf[b.off:])
	b.off += n
	if n > 0 {
		b.lastRead = opRead
	}
	return n, nil
}

// Next reads the next n bytes, or all there are, and gives them as a slice that is valid until the next read or write.
func (b *Buffer) Next(n int) []byte {
	b.lastRead = opInvalid
	n = min(n, b.Len())
	b.expose()
	data := b.buf[b.off : b.off+n]
	b.off += n
	if n > 0 {
		b.lastRead = opRead
	}
	return data
}

// ReadByte reads the next byte. Without any it returns io.EOF.
func (b *Buffer) ReadByte() (byte, error) {
	if b.empty() {
		b.Reset()
		return 0, io.EOF
	}
	c := b.buf[b.off]
	b.off++
	b.lastRead = opRead
	return c, nil
}

// ReadRune reads the next code point in UTF-8 and returns it with its size in bytes. A byte that is not UTF-8 is read
// as U+FFFD of size 1. Without any bytes it returns io.EOF.
func (b *Buffer) ReadRune() (r rune, size int, err error) {
	if b.empty() {
		b.Reset()
		return 0, 0, io.EOF
	}
	r, size = rune(b.buf[b.off]), 1
	if r >= utf8.RuneSelf {
		r, size = utf8.DecodeRune(b.buf[b.off:])
	}
	b.off += size
	b.lastRead = readOp(size)
	return r, size, nil
}

// UnreadRune makes the rune unread that the method before has read. It returns an error if that was not a ReadRune that
// has read one.
func (b *Buffer) UnreadRune() error {
	if b.lastRead <= opInvalid {
		return errUnreadRune
	}
	if size := int(b.lastRead); b.off >= size {
		b.off -= size
	}
	b.lastRead = opInvalid
	return nil
}

// UnreadByte makes the last byte unread that the method before has read. It returns an error if that was not a read of
// at least one byte.
func (b *Buffer) UnreadByte() error {
	if b.lastRead == opInvalid {
		return errUnreadByte
	}
	b.lastRead = opInvalid
	if b.off > 0 {
		b.off--
	}
	return nil
}

// ReadBytes reads up to the first delim and gives a copy of the bytes, delim included. Without a delim it gives all
// there is, and io.EOF.
func (b *Buffer) ReadBytes(delim byte) (line []byte, err error) {
	slice, err := b.readTo(delim)
	return append(line, slice...), err
}

// ReadString reads up to the first delim and gives the bytes as a string, delim included. Without a delim it gives all
// there is, and io.EOF.
func (b *Buffer) ReadString(delim byte) (line string, err error) {
	slice, err := b.readTo(delim)
	return string(slice), err
}

func (b *Buffer) readTo(delim byte) (line []byte, err error) {
	end := b.off + bytes.IndexByte(b.buf[b.off:], delim) + 1
	if end == b.off {
		end = len(b.buf)
		err = io.EOF
	}
	line = b.buf[b.off:end]
	b.off = end
	b.lastRead = opRead
	return line, err
}

// WriteTo writes the unread bytes to w in one Write, and reads as many as that has taken. It returns the error of w, or
// io.ErrShortWrite if w has taken less without one. Without any bytes it does not call w. It panics if w returns a
// count of more than it was given.
func (b *Buffer) WriteTo(w io.Writer) (n int64, err error) {
	b.lastRead = opInvalid
	if unread := b.Len(); unread > 0 {
		memory := b.pass()
		m, err := w.Write(b.buf[b.off:])
		b.passBack(memory)
		if m > unread {
			panic("bytebuf.Buffer.WriteTo: invalid Write count")
		}
		b.off += m
		if err == nil && m != unread {
			err = io.ErrShortWrite
		}
		if err != nil {
			return int64(m), err
		}
		n = int64(m)
	}
	b.Reset()
	return n, nil
}
