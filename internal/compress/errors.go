package compress

import (
	"errors"
	"fmt"
	"io"
)

// ErrCorrupt marks the errors of a stream that is damaged or cut off.
var ErrCorrupt = errors.New("compress: corrupt data")

// corruptError is what a decoder says of damaged data, marked with ErrCorrupt.
type corruptError struct {
	codec Codec
	cause error
}

func (e *corruptError) Error() string {
	return fmt.Sprintf("compress: corrupt %s data: %s", e.codec, e.cause)
}

func (e *corruptError) Unwrap() []error { return []error{ErrCorrupt, e.cause} }

func corrupt(codec Codec, cause error) error { return &corruptError{codec, cause} }

var (
	errNotMade = errors.New("compress: a zero Reader or FrameDecoder, which was not made by this package")
	errCount   = errors.New("compress: a Read or Write has returned an impossible count")
)

// maxEmptyReads is how many reads in a row may return neither bytes nor an error, as in package bufio.
const maxEmptyReads = 100

// source remembers the error of a reader, to tell it from errors about the data when a decoder returns it.
type source struct {
	io.Reader
	empty int // reads in a row that have returned nothing
	err   error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	switch {
	case n < 0 || n > len(p):
		n, err = 0, errCount
	case n > 0 || err != nil || len(p) == 0:
		s.empty = 0
	default:
		if s.empty++; s.empty >= maxEmptyReads {
			err = io.ErrNoProgress
		}
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// explain gives the error to report for one that a decoder has returned.
func (s *source) explain(codec Codec, err error) error {
	var known *corruptError
	switch {
	case s.err != nil && errors.Is(err, s.err):
		return s.err
	case errors.Is(err, io.ErrNoProgress):
		return err
	case errors.As(err, &known):
		return known
	default:
		return corrupt(codec, err)
	}
}
