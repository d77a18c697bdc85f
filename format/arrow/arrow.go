package arrow

import (
	"fmt"
	"io"
	"sync"

	"culvert/format"
	"culvert/format/internal/typed"
	"culvert/internal/compress"
	"culvert/source"
)

// Format writes Arrow IPC. The zero value writes files that are compressed inside.
type Format struct {
	Stream       bool // write the format of streams, which has no index
	Uncompressed bool // leave the buffers as they are in memory

	whole int // bytes of the largest batch that is not passed on in pieces; of tests
}

// usualWhole is the usual value of whole.
const usualWhole = 4 << 20

// Extension returns ".arrow", or ".arrows" for a stream, as the Arrow project has it.
func (f Format) Extension() string {
	if f.Stream {
		return ".arrows"
	}
	return ".arrow"
}

// Fitter implements [format.Fitting].
func (Format) Fitter(
	columns []source.Column, printed source.Dialect, how format.Lossy,
) (format.Fitter, []source.Column, error) {
	return typed.Fitter(columns, printed, how)
}

// Encoder returns an encoder, which is a [format.Assembled]. It fails if there are no columns, if two have the same
// name, or if a name is not valid UTF-8, since most readers refuse such files.
func (f Format) Encoder(columns []source.Column) (format.Encoder, error) {
	if len(columns) == 0 {
		return nil, fmt.Errorf("arrow: a file must have a column, and these rows have none")
	}
	stored, err := typed.Columns(columns)
	if err != nil {
		return nil, fmt.Errorf("arrow: %w", err)
	}
	e := &encoder{columns: stored, stream: f.Stream, whole: f.whole}
	if e.whole == 0 {
		e.whole = usualWhole
	}
	if !f.Uncompressed {
		e.codec = codec()
	}
	s := &scratch{}
	for i := range stored {
		s.nodes = append(s.nodes, make([]node, nodesOf(&stored[i]))...)
		s.buffers = append(s.buffers, make([]buffer, buffersOf(&stored[i]))...)
	}
	e.header = len(e.appendBatchHeader(nil, s, 0, 0))
	return e, nil
}

// What all files share, since new ones would take most of the time for a small table.
var (
	codec = sync.OnceValue(func() *compress.Encoder { return compress.NewEncoder(compress.Zstd, 0) })
	idle  = sync.Pool{New: func() any { return new(scratch) }}
)

// encoder makes record batches on all cores. See batch.go, and large.go for rows that are passed on in pieces.
type encoder struct {
	columns []typed.Column
	header  int // bytes of the metadata of a record batch, with its prefix
	codec   *compress.Encoder
	stream  bool
	whole   int
}

// AppendHeader returns dst: the assembler writes what is before the first row.
func (e *encoder) AppendHeader(dst []byte) []byte { return dst }

func (e *encoder) RowSize() int { return len(e.columns) }

func (e *encoder) AppendRows(dst []byte, b *source.Batch) ([]byte, error) {
	s := idle.Get().(*scratch)
	defer s.free()
	return e.appendBatch(dst, b, s)
}

func (e *encoder) AppendPieces(
	dst []byte, b *source.Batch, size int, next func([]byte) ([]byte, error),
) (_ []byte, err error) {
	s := idle.Get().(*scratch)
	defer s.free()
	if b.Size() > e.whole {
		return e.appendLarge(dst, b, s, size, next)
	}
	if dst, err = e.appendBatch(dst, b, s); err == nil && len(dst) >= size {
		dst, err = next(dst)
	}
	return dst, err
}

// Assemble returns the writer that makes a file of record batches. See [format.Assembled].
func (e *encoder) Assemble(w io.Writer) io.WriteCloser { return &assembler{e: e, w: w} }
