package bytebuf

import (
	"io"
	"sync/atomic"
)

// Buffer is a variable-sized buffer of bytes with the methods of [bytes.Buffer], and with [Buffer.Extend],
// [Buffer.Free] and [Buffer.TakeString]. The zero value is an empty buffer ready to use.
//
// A Buffer must be used by one goroutine at a time, except for the methods that change nothing: Bytes, String, Peek,
// Len, Cap, Available and AvailableBuffer. A Buffer must not be copied.
type Buffer struct {
	_        noCopy
	buf      []byte // the content is buf[off:]
	off      int
	lastRead readOp
	memory   uint32 // whose memory buf is: foreign, lent, owned, passed or exposed
	loan     *loan  // of the Pool that lent this Buffer, or nil
}

// noCopy makes go vet report copies. Two copies would free the same memory twice.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// The owner of a Buffer's memory.
const (
	foreign uint32 = iota // the caller, or New, or there is no memory
	lent                  // a Pool
	owned                 // this Buffer: from the free lists, and no slices exist
	passed                // this Buffer, but a reader or writer has a slice until it returns
	exposed               // this Buffer, but callers may have slices until Free
)

// bootstrapSize is the initial size of New's memory, and the minimum of any other: a cache line, as in bytes.Buffer.
const bootstrapSize = 64

// New returns an empty Buffer with 64 bytes of memory, on the stack of the caller if the Buffer does not escape.
func New() *Buffer {
	// Not a field of the Buffer: a variable that points to itself always escapes.
	var bootstrap [bootstrapSize]byte
	return &Buffer{buf: bootstrap[:0]}
}

// NewBuffer returns a Buffer with the content buf. The Buffer takes ownership of buf; the caller should not use it
// afterwards. Use NewBuffer to read existing data, or, with an empty buf of some capacity, to write into that memory.
// Other Buffers never reuse it.
func NewBuffer(buf []byte) *Buffer { return &Buffer{buf: buf} }

// NewBufferString returns a Buffer with a copy of s as its content.
func NewBufferString(s string) *Buffer { return &Buffer{buf: []byte(s)} }

// Bytes returns the unread bytes. The slice aliases the content and is valid until the next call of a method that
// changes the Buffer.
func (b *Buffer) Bytes() []byte {
	b.expose()
	return b.buf[b.off:]
}

// AvailableBuffer returns an empty slice with the capacity [Buffer.Available]. Append to it and pass it to Write at
// once, which then copies nothing. The slice is valid until the next write.
func (b *Buffer) AvailableBuffer() []byte {
	b.expose()
	return b.buf[len(b.buf):]
}

// Peek returns the next n bytes without reading them. If there are fewer, it returns them with io.EOF. The slice
// aliases the content and is valid until the next call of a method that changes the Buffer.
func (b *Buffer) Peek(n int) ([]byte, error) {
	b.expose()
	if b.Len() < n {
		return b.buf[b.off:], io.EOF
	}
	return b.buf[b.off : b.off+n], nil
}

// expose records that a caller gets a slice of the memory. It is called by methods that may run concurrently.
func (b *Buffer) expose() {
	if memory := atomic.LoadUint32(&b.memory); memory == owned || memory == passed {
		atomic.StoreUint32(&b.memory, exposed)
	}
}

// pass records that a reader or writer gets a slice of the memory, and returns the old state. The reader or writer may
// use the Buffer until passBack; meanwhile the memory of the slice must not be freed.
func (b *Buffer) pass() uint32 {
	memory := b.memory
	if memory == owned {
		b.memory = passed
	}
	return memory
}

// passBack restores the state before pass, unless the reader or writer has called methods that changed it.
func (b *Buffer) passBack(memory uint32) {
	if b.memory == passed {
		b.memory = memory
	}
}

// String returns a copy of the unread bytes as a string, and "<nil>" if b is nil.
func (b *Buffer) String() string {
	if b == nil {
		return "<nil>" // as bytes.Buffer does, for printing a nil pointer
	}
	return string(b.buf[b.off:])
}

// TakeString returns the unread bytes as a string and empties the Buffer. If the content fills more than half of the
// memory, the string takes over the memory without a copy. Otherwise, or if the memory belongs to others, or if slices
// of it have been returned, which could change the string, the string is a copy.
func (b *Buffer) TakeString() string {
	content := b.buf[b.off:]
	if !inPlace || b.memory != owned || len(content) <= cap(b.buf)/2 {
		s := string(content)
		b.Reset()
		return s
	}
	b.buf, b.off, b.lastRead, b.memory = nil, 0, opInvalid, foreign
	if b.loan != nil {
		b.memory = lent // Free must still return the loan
	}
	return stringOf(content)
}

// Free empties the Buffer and returns its memory to the free lists, or the Buffer to the [Pool] that lent it. Slices of
// the Buffer must not be used any more; strings may. A Buffer that is not from a Pool may be used again.
func (b *Buffer) Free() {
	if b.memory != foreign {
		b.handBack()
		return
	}
	b.buf, b.off, b.lastRead = nil, 0, opInvalid
}

// handBack is separate so that Free can be inlined.
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
		b.memory, b.loan = lent, loan // to detect a second Free
	}
	loan.end() // the Buffer may already have another borrower
}

// Len returns the number of unread bytes.
func (b *Buffer) Len() int { return len(b.buf) - b.off }

// Cap returns the size of the Buffer's memory, including the bytes that have been read.
func (b *Buffer) Cap() int { return cap(b.buf) }

// Available returns the number of bytes that can be written without making room.
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

// Reset empties the Buffer and keeps the memory, like Truncate(0).
func (b *Buffer) Reset() {
	b.buf = b.buf[:0]
	b.off = 0
	b.lastRead = opInvalid
}
