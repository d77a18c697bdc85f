package bytebuf

import (
	"io"
	"sync/atomic"
)

// Buffer is a variable-sized buffer of bytes with the methods of [bytes.Buffer], and with [Buffer.Extend],
// [Buffer.Free] and [Buffer.TakeString]. The zero value is an empty buffer ready to use.
//
// A Buffer is used by one goroutine at a time; those methods that change nothing (Bytes, String, Peek, Len, Cap,
// Available and AvailableBuffer) may be called at once. A copy of a Buffer shares its memory: use only one of the two.
type Buffer struct {
	_        noCopy
	buf      []byte // the content is buf[off:]
	off      int
	lastRead readOp
	memory   uint32 // whose memory buf is: foreign, lent, owned, passed or exposed
	loan     *loan  // of the Pool that has lent this Buffer
}

// noCopy makes go vet report copies: two Buffers that free the same memory hand it on twice.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Whose memory the buf of a Buffer is.
const (
	foreign uint32 = iota // the caller's, or the first bytes of New; or none
	lent                  // that of a Pool
	owned                 // from the free lists, and nobody else has a slice of it
	passed                // owned, but a reader or writer has a slice of it until it returns
	exposed               // from the free lists, and others may have slices of it until Free
)

// bootstrapSize is the number of bytes that a Buffer of New holds by itself, and the least that another one takes: a
// cache line, and what bytes.Buffer begins with.
const bootstrapSize = 64

// New gives an empty Buffer that keeps its first 64 bytes on the stack of the caller, if it stays there itself.
func New() *Buffer {
	// Not a part of the Buffer: a variable that points to itself always moves to the heap.
	var bootstrap [bootstrapSize]byte
	return &Buffer{buf: bootstrap[:0]}
}

// NewBuffer gives a Buffer with the content buf, which belongs to it from now on: the caller should not use buf
// afterwards. It serves to read existing data, or to write into memory of the caller's choice, if buf has length zero
// and the capacity wanted. That memory is never handed on to other Buffers.
func NewBuffer(buf []byte) *Buffer { return &Buffer{buf: buf} }

// NewBufferString gives a Buffer with a copy of s as its content, to read from.
func NewBufferString(s string) *Buffer { return &Buffer{buf: []byte(s)} }

// Bytes gives the unread bytes. The slice is valid until the next method that changes the Buffer, and until then
// changes of the slice are changes of the content.
func (b *Buffer) Bytes() []byte {
	b.expose()
	return b.buf[b.off:]
}

// AvailableBuffer gives an empty slice with the capacity of [Buffer.Available], to be appended to and passed to a Write
// that follows at once, which then has nothing to copy. It is valid until the next write.
func (b *Buffer) AvailableBuffer() []byte {
	b.expose()
	return b.buf[len(b.buf):]
}

// Peek gives the next n bytes and leaves them unread. If there are fewer it gives what there is, and io.EOF. The slice
// is valid until the next read or write, and until the next method that changes the Buffer changes of the slice are
// changes of the content.
func (b *Buffer) Peek(n int) ([]byte, error) {
	b.expose()
	if b.Len() < n {
		return b.buf[b.off:], io.EOF
	}
	return b.buf[b.off : b.off+n], nil
}

// expose notes that a slice of the memory goes out. It is called by methods that may run at once.
func (b *Buffer) expose() {
	if memory := atomic.LoadUint32(&b.memory); memory == owned || memory == passed {
		atomic.StoreUint32(&b.memory, exposed)
	}
}

// pass notes that a slice of the memory goes to a reader or writer, and gives what the memory was before. Until
// passBack those can use the Buffer, and it must not hand on the memory that they work on.
func (b *Buffer) pass() uint32 {
	memory := b.memory
	if memory == owned {
		b.memory = passed
	}
	return memory
}

// passBack ends a pass: readers and writers may not keep the slice. If they have called methods that hand out slices or
// take other memory, it stays as these left it.
func (b *Buffer) passBack(memory uint32) {
	if b.memory == passed {
		b.memory = memory
	}
}

// String gives a copy of the unread bytes as a string, and "<nil>" if b is nil.
func (b *Buffer) String() string {
	if b == nil {
		return "<nil>" // as bytes.Buffer does, for those who print a pointer
	}
	return string(b.buf[b.off:])
}

// TakeString gives the unread bytes as a string and leaves the Buffer empty. If the content fills more than half of the
// memory, that goes over to the string, without a copy. Otherwise the string is a copy and the memory stays; so it does
// if it is not the Buffer's own, or if slices of it have been handed out, which could change the string.
func (b *Buffer) TakeString() string {
	content := b.buf[b.off:]
	if !inPlace || b.memory != owned || len(content) <= cap(b.buf)/2 {
		s := string(content)
		b.Reset()
		return s
	}
	b.buf, b.off, b.lastRead, b.memory = nil, 0, opInvalid, foreign
	if b.loan != nil {
		b.memory = lent // which Free still has to hand back
	}
	return stringOf(content)
}

// Free empties the Buffer and hands its memory back to where it came from: to the free lists, or to the [Pool] that has
// lent the Buffer. No slice that the Buffer has given may be used from now on; strings may. The Buffer is as good as
// the zero Buffer then, unless it is a Pool's.
func (b *Buffer) Free() {
	if b.memory != foreign {
		b.handBack()
		return
	}
	b.buf, b.off, b.lastRead = nil, 0, opInvalid
}

// handBack is apart from Free so that Free can be inlined.
func (b *Buffer) handBack() {
	if b.memory != lent {
		release(b.buf)
	}
	loan := b.loan
	*b = Buffer{}
	if loan == nil {
		return
	}
	if debug {
		b.memory, b.loan = lent, loan // which notices if it is ended again
	}
	loan.end() // from here on the Buffer may be somebody else's
}

// Len is the number of unread bytes.
func (b *Buffer) Len() int { return len(b.buf) - b.off }

// Cap is the size of the memory that the Buffer has now, read and unread bytes included.
func (b *Buffer) Cap() int { return cap(b.buf) }

// Available is the number of bytes that can be written before the Buffer has to make room.
func (b *Buffer) Available() int { return cap(b.buf) - len(b.buf) }

// Truncate drops all but the first n unread bytes and keeps the memory. It panics if n is negative or greater than
// [Buffer.Len].
func (b *Buffer) Truncate(n int) {
	if n == 0 {
		b.Reset()
		return
	}
	b.lastRead = opInvalid
	if n < 0 || n > b.Len() {
		panic("bytebuf.Buffer: truncation out of range")
	}
	b.buf = b.buf[:b.off+n]
}

// Reset empties the Buffer and keeps the memory. It is the same as Truncate(0).
func (b *Buffer) Reset() {
	b.buf = b.buf[:0]
	b.off = 0
	b.lastRead = opInvalid
}
