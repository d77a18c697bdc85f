package bytebuf

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// readOp is the last operation, if it can be undone. For ReadRune it is the size of the rune.
type readOp int8

const (
	opRead    readOp = -1 // any read except ReadRune
	opInvalid readOp = 0  // nothing to undo
)

var (
	errUnreadByte = errors.New("bytebuf.Buffer: UnreadByte: previous operation was not a successful read")
	errUnreadRune = errors.New("bytebuf.Buffer: UnreadRune: previous operation was not a successful ReadRune")
)

// empty reports whether no bytes are unread. A writer that changes the Buffer during WriteTo can leave a negative
// number.
func (b *Buffer) empty() bool { return len(b.buf) <= b.off }

// Read reads the next bytes into p. If there are none, it returns io.EOF, unless p is empty.
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

// Next reads and returns the next n bytes, or fewer if there are fewer. The slice is valid until the next read or
// write.
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

// ReadByte reads the next byte. If there is none, it returns io.EOF.
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

// ReadRune reads the next UTF-8 code point and returns it with its size in bytes. Invalid UTF-8 is read as one byte,
// U+FFFD. If there are no bytes, ReadRune returns io.EOF.
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

// UnreadRune unreads the last rune returned by ReadRune. It returns an error if the last operation was not a successful
// ReadRune.
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

// UnreadByte unreads the last byte of the last operation. It returns an error if that was not a read of at least one
// byte.
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

// ReadBytes reads up to and including the first delim and returns a copy of the bytes. If there is no delim, it returns
// the rest with io.EOF.
func (b *Buffer) ReadBytes(delim byte) (line []byte, err error) {
	slice, err := b.readTo(delim)
	return append(line, slice...), err
}

// ReadString reads up to and including the first delim and returns a string. If there is no delim, it returns the rest
// with io.EOF.
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

// WriteTo writes the unread bytes to w in one Write; the bytes that w accepts become read. It returns the error of w,
// or io.ErrShortWrite if w accepts less without one. If there are no bytes, it does not call w. It panics if w returns
// a count that is too large.
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
