package cipherio

import (
	"crypto/cipher"
	"io"
	"sync"
)

// StreamReader is [cipher.StreamReader], which does not allocate. It is not authenticated: anyone who can write to R
// may have changed or truncated what it returns. Prefer [culvert/agefile].
type StreamReader = cipher.StreamReader

// A Write takes the smaller buffer that it fits into. See the package comment.
const (
	smallScratch = 4 << 10
	largeScratch = 64 << 10
)

// The pools hold pointers to arrays, because putting back a slice would allocate an interface each time.
var (
	smallScratches = sync.Pool{New: func() any { return new([smallScratch]byte) }}
	largeScratches = sync.Pool{New: func() any { return new([largeScratch]byte) }}
)

// StreamWriter is an [io.WriteCloser] that passes what it is given through a cipher to another writer. It is
// [cipher.StreamWriter] without its allocations, and is not authenticated: see the package comment, and prefer
// [culvert/agefile].
//
// It buffers nothing and has no state besides S, so it may be copied. After a Write that returned an error or a short
// count, S no longer matches what was written: discard the StreamWriter and its output. A nil S or W panics on the
// first Write.
//
// A StreamWriter, or several with the same S, must be used by one goroutine at a time. Others are independent. W may
// write through another StreamWriter.
type StreamWriter struct {
	S   cipher.Stream // encrypts or decrypts
	W   io.Writer     // receives the result, which it must not retain
	Err error         // unused, as in the original
}

// Write passes src through S to W. It neither changes nor retains src, and does not allocate.
//
// If src has at most 64 KiB, W.Write is called once, and n and err are its results, except that err is
// [io.ErrShortWrite] if W returned no error and n is not len(src). If src is longer, W.Write is called so for each
// 64 KiB and for the rest, until one call fails or is short. Then n is the sum of the results.
func (w StreamWriter) Write(src []byte) (n int, err error) {
	// After a panic the scratch is not put back: W may still hold it.
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
