package arrowread

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"culvert/format"
	"culvert/internal/compress"
	"culvert/source"
)

// Format opens files and streams of Arrow IPC. It is a [format.Columnar].
type Format struct{}

// file is an open file or stream.
type file struct {
	src          io.ReaderAt
	size         int64
	columns      []column
	described    []source.Column
	dictionaries []block // in their order
	batches      []batch
	summaries    []format.RowGroup
	zstd         *compress.FrameDecoder
	idle         sync.Pool // of memory for batches
	known        known     // dictionaries that were read

	// largest bounds the text of a value that is nested, whose parts may be those of other values too.
	largest int
}

const largestNested = 1 << 30

var (
	errNotArrow = errors.New("it is not Arrow IPC, or it is not whole")
	errFeather  = errors.New("it is Feather of version 1, which is not read; write it in version 2, which is Arrow")
	errNoEnd    = errors.New("the stream has no end, so it may not be whole")
	errAfterEnd = errors.New("something follows the end of the stream")
)

// Open reads the schema of a file or a stream, and how many rows each record batch has. It refuses those whose columns
// have types that are not read.
func (Format) Open(src io.ReaderAt, size int64) (format.ColumnFile, error) {
	f := &file{src: src, size: size, largest: largestNested, zstd: compress.NewFrameDecoder(runtime.GOMAXPROCS(0))}
	f.known.of = map[*node]*dictionary{}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("arrowread: %w", err)
	}
	return f, nil
}

const (
	magic     = "ARROW1"
	magicSize = 8 // with zeros
	feather   = "FEA1"
)

func (f *file) open() error {
	if f.size < magicSize {
		return errNotArrow
	}
	var head [magicSize]byte
	if err := readAt(f.src, head[:], 0); err != nil {
		return err
	}
	switch {
	case string(head[:len(magic)]) == magic:
		if err := f.openFile(); err != nil {
			return err
		}
	case string(head[:len(feather)]) == feather:
		return errFeather
	default:
		if err := f.scan(); err != nil {
			return err
		}
	}
	first := int64(0)
	f.summaries = make([]format.RowGroup, len(f.batches))
	for i := range f.batches {
		b := &f.batches[i]
		b.first = first
		first += b.rows
		g := format.RowGroup{Rows: b.rows, Bytes: int64(b.metadata) + b.body, Codecs: codecNames[b.codec]}
		if b.codec == uncompressed {
			g.Text = b.body
		}
		f.summaries[i] = g
	}
	return nil
}

// Columns implements [format.ColumnFile].
func (f *file) Columns() []source.Column { return f.described }

// Groups implements [format.ColumnFile]. A group is a record batch.
func (f *file) Groups() []format.RowGroup { return f.summaries }

func readAt(src io.ReaderAt, p []byte, at int64) error {
	if n, err := src.ReadAt(p, at); n < len(p) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}
