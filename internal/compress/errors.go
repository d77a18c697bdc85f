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

// source remembers the error of a reader, to tell it from errors about the data when a decoder returns it.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
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
