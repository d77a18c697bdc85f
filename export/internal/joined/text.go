package joined

import (
	"errors"
	"io"
	"io/fs"

	"culvert/manifest"
)

// Text is the text of the parts of a table, one after the other, with one header. A part that is shorter or longer than
// the manifest says is an error, so no part can be cut off at a frame unnoticed.
type Text struct {
	table   *manifest.Table
	open    func(*manifest.Part) (io.ReadCloser, error)
	damaged func(format string, args ...any) error
	next    int           // the part after the current one
	current io.ReadCloser // nil between parts
	left    int64         // bytes of text of the current part
}

// NewText reads the parts of a table that open returns, and opens the first one. Errors about their content are those
// of damaged.
func NewText(
	t *manifest.Table, open func(*manifest.Part) (io.ReadCloser, error), damaged func(string, ...any) error,
) (*Text, error) {
	j := &Text{table: t, open: open, damaged: damaged}
	return j, j.advance()
}

// advance opens the next part, after its header unless it is the first.
func (j *Text) advance() (err error) {
	part := &j.table.Parts[j.next]
	defer func() { err = AboutPart(part, err) }()
	r, err := j.open(part)
	if errors.Is(err, fs.ErrNotExist) {
		return j.damaged("it is missing")
	}
	if err != nil {
		return err
	}
	j.left = part.TextBytes
	if j.next > 0 {
		n, err := io.CopyN(io.Discard, r, j.table.HeaderBytes)
		if err == io.EOF {
			err = j.damaged("it is shorter than its header")
		}
		if err != nil {
			return errors.Join(err, r.Close())
		}
		j.left -= n
	}
	j.next++
	j.current = r
	return nil
}

// AboutPart says which part an error is about.
func AboutPart(part *manifest.Part, err error) error {
	if err == nil {
		return nil
	}
	if at, is := errors.AsType[*fs.PathError](err); is {
		err = at.Err
	}
	return &fs.PathError{Op: "read", Path: part.File, Err: err}
}

func (j *Text) Read(p []byte) (int, error) {
	for {
		if j.current == nil {
			if j.next == len(j.table.Parts) {
				return 0, io.EOF
			}
			if err := j.advance(); err != nil {
				return 0, err
			}
		}
		part := &j.table.Parts[j.next-1]
		n, err := j.current.Read(p)
		j.left -= int64(n)
		switch {
		case j.left < 0 || err == io.EOF && j.left != 0:
			err = j.damaged("it does not hold the %d bytes of text that the manifest says", part.TextBytes)
		case err == io.EOF:
			err = j.Close()
		}
		if n > 0 || err != nil {
			return n, AboutPart(part, err)
		}
	}
}

// Close closes the current part.
func (j *Text) Close() error {
	if j.current == nil {
		return nil
	}
	r := j.current
	j.current = nil
	return r.Close()
}
