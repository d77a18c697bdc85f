package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"unicode"
	"unicode/utf8"

	"culvert/internal/ui"
	"culvert/place"
)

// checkOutput refuses an output that openSink would refuse, before work is done for it.
func checkOutput(path string, force bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Lstat(path); err == nil && !force {
			return existsError(path) // as a link that leads nowhere
		}
		dir := filepath.Dir(path)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return withHint(fmt.Errorf("output directory %q does not exist", dir), hintToMake(dir))
		}
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return usagef("output %q is a directory", path)
	case info.Mode().IsRegular() && !force:
		return existsError(path)
	}
	return nil
}

// create begins the file at a location. The function that it returns is called at the end, with the error of
// everything.
func (l *location) create(ctx context.Context, force bool) (place.File, func(error) error, error) {
	to := &output{l.place, l}
	create := to.Create
	if force {
		create = to.Replace
	}
	f, err := create(ctx, l.name)
	if err != nil {
		return nil, nil, l.close(err)
	}
	return f, func(err error) error { return l.close(errors.Join(err, f.Discard())) }, nil
}

func existsError(path string) error {
	return withHint(fmt.Errorf("output %q exists", path),
		"choose another name with -o FILE, or overwrite it with --force")
}

// withOutputHint says what to try if there is no place for an output.
func withOutputHint(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return withHint(err, "make room, or choose another place with -o FILE")
	case errors.Is(err, os.ErrPermission):
		return withHint(err, "choose another place with -o FILE, or change the permissions")
	}
	return err
}

// stream is an output that others read as it is written: standard output.
type stream struct{ io.Writer }

func (s stream) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		return n, &outputClosedError{err}
	}
	return n, withOutputHint(err)
}

// outputClosedError says that whoever read standard output has had enough, as head has.
type outputClosedError struct{ error }

func (e *outputClosedError) Unwrap() error { return e.error }

func (stream) Commit() error  { return nil }
func (stream) Discard() error { return nil }

// device is a stream that has to be closed.
type device struct {
	stream
	file *os.File
}

func (d *device) Commit() error { return d.file.Close() }

func (d *device) Discard() error {
	if err := d.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// printable is standard output when that is a terminal and the data might be binary. It lets text pass, as it comes,
// and stops at the first byte that is none.
type printable struct {
	stream
	rest  []byte // the beginning of a character that continues in the next write
	hints []string
}

func (p *printable) Write(data []byte) (int, error) {
	text := slices.Concat(p.rest, data)
	end := len(text) - incompleteRune(text)
	if !isText(text[:end]) {
		return 0, withHint(errBinary, p.hints...)
	}
	p.rest = bytes.Clone(text[end:])
	if _, err := p.stream.Write(text[:end]); err != nil {
		return 0, err
	}
	return len(data), nil
}

func (p *printable) Commit() error {
	if len(p.rest) > 0 {
		return withHint(errBinary, p.hints...)
	}
	return nil
}

var errBinary = errors.New("refusing to write binary data to the terminal")

func isText(data []byte) bool {
	return utf8.Valid(data) && !bytes.ContainsFunc(data, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	})
}

// incompleteRune is the number of bytes at the end that may be the beginning of a character.
func incompleteRune(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// openSink opens the output of -o: a file, or standard output if the path is "" or "-". Data that could be binary goes
// to a terminal only if it turns out to be text, or if the path is "-". The function that it returns is called at the
// end, with the error of everything.
func (a *app) openSink(ctx context.Context, path string, force bool, flags *placeFlags, binaryHints ...string) (
	place.File, func(error) error, error,
) {
	nothing := func(err error) error { return err }
	switch info, err := os.Stat(path); {
	case path == "" && ui.IsTerminal(a.stdout):
		return &printable{stream: stream{a.stdout}, hints: binaryHints}, nothing, nil
	case path == "" || path == "-":
		return stream{a.stdout}, nothing, nil
	case err == nil && !info.Mode().IsRegular():
		// A pipe or /dev/null is written to as it is.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		out := &device{stream{f}, f}
		return out, func(err error) error { return errors.Join(err, out.Discard()) }, withOutputHint(err)
	case err != nil && force:
		if _, err := os.Readlink(path); err == nil { // a link that leads nowhere
			if err := os.Remove(path); err != nil {
				return nil, nil, withOutputHint(err)
			}
		}
	}
	ctx, l, err := a.locate(ctx, path, flags)
	if err != nil {
		return nil, nil, err
	}
	return l.create(ctx, force)
}

// countingWriter counts what is written to a sink, and remembers why that failed.
type countingWriter struct {
	w   io.Writer
	n   atomic.Int64
	err error
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n.Add(int64(n))
	if err != nil {
		c.err = err
	}
	return n, err
}

// blame returns the error of a copy: that of the sink, if it has failed, and otherwise what is said of the source.
func (c *countingWriter) blame(err, ofSource error) error {
	if c.err != nil && errors.Is(err, c.err) {
		return c.err
	}
	return ofSource
}
