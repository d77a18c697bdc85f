package agefile

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"strings"
	"sync/atomic"

	"culvert/internal/strictio"
)

// section is the rest of a source that can be read at any offset, and so by several workers at once.
//
// One goroutine that copies the input of all workers limits them: four cores reach only half of the speed that they
// could seal at.
type section struct {
	file     readSeekerAt
	off, end int64
}

type readSeekerAt interface {
	io.ReadSeeker
	io.ReaderAt
}

// isPlain reports whether the ReadAt of src returns the same bytes as its Read. That is known of a few types only: a
// type that embeds one of them inherits ReadAt, but its own Read may filter, limit or count.
func isPlain(src io.Reader) bool {
	switch src.(type) {
	case *os.File, *io.SectionReader, *bytes.Reader, *strings.Reader:
		return true
	}
	// In io.Copy, an os.File wraps itself to hide its WriteTo. Only package os has this path.
	return reflect.TypeOf(src).PkgPath() == "os"
}

// sectionOf returns the section of src from back bytes before its current offset. It returns false if src has no
// ReadAt, as a pipe, or if ReadAt is not permitted. A source without a size, such as a device, has an empty section.
func (c Config) sectionOf(src io.Reader, back int) (section, bool) {
	file, ok := src.(readSeekerAt)
	if !ok || c.Workers < 2 || !c.ReadAt && !isPlain(src) {
		return section{}, false
	}
	off, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return section{}, false
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return section{}, false
	}
	if _, err := file.Seek(off, io.SeekStart); err != nil {
		return section{}, false
	}
	return section{file, off - int64(back), end}, true
}

// take assigns the next size bytes to a span. It never takes the last bytes, since only Read finds the end of a source.
func (sec *section) take(s *span, size int) bool {
	if sec.end-sec.off <= int64(size) {
		return false
	}
	s.at, s.off = sec.file, sec.off
	sec.off += int64(size)
	return true
}

// finish sets the offset of the source to the offset of the section.
func (sec *section) finish() error {
	_, err := sec.file.Seek(sec.off, io.SeekStart)
	return err
}

// source is the stream that a Reader reads, until the Reader is closed. Filling a span may take many Reads, and Close
// does not wait for it.
type source struct {
	strictio.Reader
	closed atomic.Bool
}

func newSource(src io.Reader) *source { return &source{Reader: strictio.Reader{R: src}} }

func (s *source) Read(p []byte) (int, error) {
	if s.closed.Load() {
		return 0, errReaderClosed
	}
	return s.Reader.Read(p)
}
