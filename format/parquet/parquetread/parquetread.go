package parquetread

import (
	"fmt"
	"io"
	"runtime"

	"culvert/format"
	"culvert/internal/compress"
	"culvert/source"
)

// Format opens files of Parquet. It is a [format.Columnar].
type Format struct{}

// file is an open file.
type file struct {
	src       io.ReaderAt
	size      int64
	columns   []column
	described []source.Column
	leaves    []*leaf
	groups    []group
	summaries []format.RowGroup
	zstd      *compress.FrameDecoder

	// largest bounds the text of a value that is nested, whose parts may repeat a value of a dictionary.
	largest int
}

const largestNested = 1 << 30

// Open reads the footer of a file. It refuses files whose columns have types that are not read.
func (Format) Open(src io.ReaderAt, size int64) (format.ColumnFile, error) {
	f := &file{src: src, size: size, largest: largestNested, zstd: compress.NewFrameDecoder(runtime.GOMAXPROCS(0))}
	footer, err := readFooter(src, size)
	if err == nil {
		err = f.parseFooter(footer)
	}
	if err != nil {
		return nil, fmt.Errorf("parquetread: %w", err)
	}
	return f, nil
}

// Columns implements [format.ColumnFile].
func (f *file) Columns() []source.Column { return f.described }

// Groups implements [format.ColumnFile].
func (f *file) Groups() []format.RowGroup { return f.summaries }
