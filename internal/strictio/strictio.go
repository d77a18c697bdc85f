// Package strictio calls readers and writers that may break the rules of package io. An invalid count, or a reader that
// never makes progress, becomes an error instead of a panic or an endless loop.
package strictio

import (
	"errors"
	"io"
)

// ErrCount reports that a Read, ReadAt or Write returned a count that its slice cannot hold.
var ErrCount = errors.New("invalid count from Read or Write")

// maxEmptyReads is the limit that package bufio has.
const maxEmptyReads = 100

// Reader reads from R. It returns [io.ErrNoProgress] after 100 reads in a row that returned neither bytes nor an error,
// and [ErrCount] for an invalid count.
type Reader struct {
	R     io.Reader
	empty int // empty reads in a row
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.R.Read(p)
	switch {
	case n < 0 || n > len(p):
		return 0, ErrCount
	case n > 0 || err != nil || len(p) == 0:
		r.empty = 0
	default:
		if r.empty++; r.empty >= maxEmptyReads {
			err = io.ErrNoProgress
		}
	}
	return n, err
}

// ReadFullAt fills p from offset off. If src returns less without an error, ReadFullAt asks for the rest. The error is
// nil only if p is full, and [io.EOF] if src ends before that.
func ReadFullAt(src io.ReaderAt, p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = src.ReadAt(p[n:], off+int64(n))
		if m < 0 || m > len(p)-n {
			return n, ErrCount
		}
		if n += m; m == 0 && err == nil {
			err = io.ErrNoProgress
		}
	}
	if n == len(p) {
		err = nil
	}
	return n, err
}

// Write calls w.Write once. The error is nil only if w took all of p.
func Write(w io.Writer, p []byte) (int, error) {
	n, err := w.Write(p)
	switch {
	case n < 0 || n > len(p):
		return 0, ErrCount
	case n < len(p) && err == nil:
		err = io.ErrShortWrite
	}
	return n, err
}
