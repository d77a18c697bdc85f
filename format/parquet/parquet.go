package parquet

import (
	"fmt"
	"sync"
	"sync/atomic"

	"culvert/format"
	"culvert/format/internal/typed"
	"culvert/internal/compress"
	"culvert/source"
)

// Format writes Parquet. The zero value is ready for use.
type Format struct {
	// Bloom names columns that get a bloom filter in each row group, so that programs which look for rows by a value
	// skip the row groups that do not have it. Such columns are of whole numbers, decimals, text, binary data, dates,
	// times or UUIDs.
	Bloom []string

	// BloomOptional allows columns of Bloom that the rows do not have, as for tables that are exported together.
	BloomOptional bool

	// RowGroup is how many bytes of pages a row group has, before they are compressed: 128 MiB if it is 0. It ends with
	// the batch that reaches it, or earlier, with a quarter of that compressed, since they are in memory until then.
	RowGroup int64

	limits limits // of tests
}

// limits bound what is in memory. A zero stands for the usual limit.
type limits struct {
	groupText  int // bytes of values, before compression, at which a row group ends
	groupBytes int // bytes of pages, compressed, at which it ends, since it is in memory until then
	groupPages int // pages at which it ends
	dictionary int // bytes of the dictionary of a column
	all        int // bytes of all dictionaries
	indexes    int // bytes of the indexes of pages, without which the file is written if they become larger
	whole      int // bytes of the largest batch that is not a row group of its own
	filter     int // bytes of the bloom filter of a column
	filters    int // bytes of all bloom filters
}

var usual = limits{
	groupText:  128 << 20,
	groupBytes: 32 << 20,
	groupPages: 1 << 17,
	dictionary: 1 << 20,
	all:        16 << 20,
	indexes:    16 << 20,
	whole:      4 << 20,
	filter:     1 << 20,
	filters:    16 << 20,
}

// MaxRowGroup is the largest RowGroup.
const MaxRowGroup = 4 << 30

// Extension returns ".parquet".
func (Format) Extension() string { return ".parquet" }

// Fitter implements [format.Fitting].
func (Format) Fitter(
	columns []source.Column, printed source.Dialect, how format.Lossy,
) (format.Fitter, []source.Column, error) {
	return typed.Fitter(columns, printed, how)
}

// Encoder returns an encoder, which is a [format.Assembled]. It fails if there are no columns, if two have the same
// name, if a name is not valid UTF-8, since most readers refuse such files, if a column cannot have the bloom filter
// that it is to have, or if the size of row groups is out of its bounds.
func (f Format) Encoder(columns []source.Column) (format.Encoder, error) {
	if len(columns) == 0 {
		return nil, fmt.Errorf("parquet: a file must have a column, and these rows have none")
	}
	if f.RowGroup < 0 || f.RowGroup > MaxRowGroup {
		return nil, fmt.Errorf("parquet: a row group cannot have %d bytes: it has at most 4 GiB", f.RowGroup)
	}
	stored, err := typed.Columns(columns)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	e := &encoder{limits: f.limits.of(f.RowGroup).orUsual(), varied: make([]atomic.Bool, len(columns))}
	for _, c := range stored {
		e.columns = append(e.columns, columnOf(c))
	}
	e.codec = codec()
	return e, e.setFilters(&f)
}

// of returns the limits for row groups of a size, if there is one.
func (l limits) of(rowGroup int64) limits {
	if rowGroup > 0 {
		l.groupText, l.groupBytes = int(rowGroup), max(1, int(rowGroup/4))
	}
	return l
}

func (l limits) orUsual() limits {
	for _, pair := range []struct{ limit, usual *int }{
		{&l.groupText, &usual.groupText},
		{&l.groupBytes, &usual.groupBytes},
		{&l.groupPages, &usual.groupPages},
		{&l.dictionary, &usual.dictionary},
		{&l.all, &usual.all},
		{&l.indexes, &usual.indexes},
		{&l.whole, &usual.whole},
		{&l.filter, &usual.filter},
		{&l.filters, &usual.filters},
	} {
		if *pair.limit == 0 {
			*pair.limit = *pair.usual
		}
	}
	return l
}

// What all files share, since new ones would take most of the time for a small table.
var (
	codec    = sync.OnceValue(func() *compress.Encoder { return compress.NewEncoder(compress.Zstd, 0) })
	idle     = sync.Pool{New: func() any { return new(scratch) }}
	segments = sync.Pool{New: func() any { return new(segment) }}
)

// encoder makes blocks on all cores. See block.go, and large.go for rows that are too large for a block.
type encoder struct {
	columns []column
	limits  limits
	codec   *compress.Encoder
	varied  []atomic.Bool // columns whose values repeat too seldom for a dictionary, as the assembler has found

	filtered     []bool // columns that have a bloom filter
	filters      int    // how many these are
	filterBlocks int    // the size of a filter before it is folded
}

// AppendHeader returns dst: the assembler writes what is before the first row.
func (e *encoder) AppendHeader(dst []byte) []byte { return dst }

func (e *encoder) RowSize() int { return len(e.columns) }

func (e *encoder) AppendRows(dst []byte, b *source.Batch) ([]byte, error) {
	s := idle.Get().(*scratch)
	defer s.free()
	return e.appendBlock(dst, b, s)
}

func (e *encoder) AppendPieces(
	dst []byte, b *source.Batch, size int, next func([]byte) ([]byte, error),
) (_ []byte, err error) {
	s := idle.Get().(*scratch)
	defer s.free()
	if b.Size() > e.limits.whole {
		return e.appendGroup(dst, b, s, size, next)
	}
	if dst, err = e.appendBlock(dst, b, s); err == nil && len(dst) >= size {
		dst, err = next(dst)
	}
	return dst, err
}

// free keeps the memory of a scratch for the next batch, unless a large row has used much.
func (s *scratch) free() {
	const most = 4 << 20
	if cap(s.page) > most {
		s.page = nil
	}
	if cap(s.packed) > most {
		s.packed = nil
	}
	if cap(s.hashes) > most {
		s.hashes = nil
	}
	s.lists.Free()
	idle.Put(s)
}
