package command

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
)

// IsFull reports whether an error is a disk without room, of this machine or of a server, or a quota.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// WithOutputHint says what to try if there is no place for an output.
func WithOutputHint(err error) error {
	switch {
	case IsFull(err):
		return WithHint(err, "make room, or choose another place with -o FILE")
	case errors.Is(err, os.ErrPermission):
		return WithHint(err, "choose another place with -o FILE, or change the permissions")
	}
	return err
}

// Stream is an output that others read as it is written: standard output.
type Stream struct{ io.Writer }

func (s Stream) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		return n, &outputClosedError{err}
	}
	return n, WithOutputHint(err)
}

// outputClosedError says that whoever read standard output has had enough, as head has.
type outputClosedError struct{ error }

func (e *outputClosedError) Unwrap() error { return e.error }

// Commit does nothing: what was written is out already.
func (Stream) Commit() error { return nil }

// Discard does nothing: what was written is out already.
func (Stream) Discard() error { return nil }

// CountingWriter counts what is written to a sink, and remembers why that failed.
type CountingWriter struct {
	Writer io.Writer
	Count  atomic.Int64
	Err    error
}

func (c *CountingWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.Count.Add(int64(n))
	if err != nil {
		c.Err = err
	}
	return n, err
}

// Blame returns the error of a copy: that of the sink, if it has failed, and otherwise what is said of the source.
func (c *CountingWriter) Blame(err, ofSource error) error {
	if c.Err != nil && errors.Is(err, c.Err) {
		return c.Err
	}
	return ofSource
}
