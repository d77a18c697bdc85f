package cipherio

import (
	"crypto/cipher"
	"io"
	"sync"
)

// The sizes of a scratch, of which a Write takes the smaller that it fits into. The package comment says why there are
// two, and why these.
const (
	smallScratch = 4 << 10
	largeScratch = 64 << 10
)

// The pools hold pointers to arrays: a slice would be allocated anew, as an interface, each time it is put back.
var (
	smallScratches = sync.Pool{New: func() any { return new([smallScratch]byte) }}
	largeScratches = sync.Pool{New: func() any { return new([largeScratch]byte) }}
)

// StreamWriter is an [io.WriteCloser] that passes what is written to it through a cipher on its way to another writer.
// It is [cipher.StreamWriter] without its allocations, and like it does not authenticate; see the package comment, and
// prefer [culvert/agefile].
//
// It holds nothing back and has no state but that of S, so that it may be copied, and closing it flushes nothing.
// Once a Write has returned an error, or less than it was given, S is out of step with what has been written: discard
// the StreamWriter and its output. A nil S or W panics on the first Write.
//
// A StreamWriter, or several with the same S, must be used by one goroutine at a time. Others are independent. W may
// write through another StreamWriter.
type StreamWriter struct {
	S   cipher.Stream // encrypts or decrypts, in order and from where it stands
	W   io.Writer     // takes the result, and must not retain it
	Err error         // unused; here because the original has it
}

// Write passes src through S to W. It neither changes nor retains src, and allocates nothing.
//
// Up to 64 KiB, and also if src is empty, there is one Write of W, and n and err are what that returns; err is
// [io.ErrShortWrite] if it is nil though n is not len(src). Of more, each 64 KiB is such a Write, and so is the rest;
// they end with the first that fails or is short. Then n is the sum of what they return.
func (w StreamWriter) Write(src []byte) (n int, err error) {
	// The scratch is not put back after a panic, when W may still hold it.
	if len(src) <= smallScratch {
		scratch := smallScratches.Get().(*[smallScratch]byte)
		n, err = w.write(src, scratch[:])
		smallScratches.Put(scratch)
		return n, err
	}
	scratch := largeScratches.Get().(*[largeScratch]byte)
	n, err = w.write(src, scratch[:])
	largeScratches.Put(scratch)
	return n, err
}

// write writes src in pieces no larger than the scratch, at least one.
func (w StreamWriter) write(src, scratch []byte) (int, error) {
	for n := 0; ; {
		size := min(len(src), len(scratch))
		piece := scratch[:size:size]
		w.S.XORKeyStream(piece, src[:size])
		written, err := w.W.Write(piece)
		n += written
		if written != size && err == nil {
			err = io.ErrShortWrite
		}
		src = src[size:]
		if err != nil || len(src) == 0 {
			return n, err
		}
	}
}

// Close closes W and returns its error, if W is an [io.Closer]. Otherwise it does nothing.
func (w StreamWriter) Close() error {
	if c, ok := w.W.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
