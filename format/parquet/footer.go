package parquet

import (
	"errors"
	"math"
)

// group is a row group in the file.
type group struct{ rows, text, size int64 }

// chunk is a column of a row group in the file.
type chunk struct {
	dictionary, data int64 // offsets
	size, text       int64 // with headers
	entries, nulls   int64
	bounds           int   // place in the assembler
	index, places    int   // bytes of its indexes, or 0
	filter           int64 // offset of its bloom filter
	filterSize       int   // with its header, or 0
	least, most      uint8 // bytes of its bounds
	bounded          byte  // the form of its bounds
	ids, deltas      bool  // there are such pages
}

func (c *chunk) begin() int64 {
	if c.ids {
		return c.dictionary
	}
	return c.data
}

// setStatistics sets the number of NULLs and the bounds of a column of a row group.
func (a *assembler) setStatistics(c *chunk, column int) {
	of := &a.e.columns[column]
	bounded, known := byte(unknownBounds), true
	for p := range a.columnPages(column) {
		c.entries += int64(p.entries)
		if c.nulls += int64(p.nulls); p.nulls == p.entries {
			continue
		}
		if p.bounded == unknownBounds {
			known = false
			continue
		}
		least, most := a.boundsOf(p)
		if bounded == unknownBounds || of.compare(least, a.least) < 0 {
			a.least = append(a.least[:0], least...)
		}
		if bounded == unknownBounds || of.compare(most, a.most) > 0 {
			a.most = append(a.most[:0], most...)
		}
		bounded = max(bounded, p.bounded)
	}
	if known && bounded != unknownBounds {
		c.bounded = bounded
		c.bounds, c.least, c.most = len(a.bounds), uint8(len(a.least)), uint8(len(a.most))
		a.bounds = append(append(a.bounds, a.least...), a.most...)
	}
}

// appendGroup appends the metadata of a row group.
func (a *assembler) appendGroup(t *compact, g *group, chunks []chunk, at *offsets) {
	t.beginElement()
	t.list(1, thriftStruct, len(chunks))
	for i := range chunks {
		a.appendChunk(t, &chunks[i], &a.e.columns[i], at)
	}
	t.i64(2, g.text)
	t.i64(3, g.rows)
	t.i64(5, chunks[0].begin())
	t.i64(6, g.size)
	t.end()
}

// offsets say where the next indexes are in the file.
type offsets struct{ columns, pages int64 }

// appendChunk appends the metadata of a column of a row group.
func (a *assembler) appendChunk(t *compact, c *chunk, of *column, at *offsets) {
	t.beginElement()
	t.i64(2, 0) // a field without a use, which is to be 0
	t.begin(3)
	t.i32(1, int(of.physical))
	encodings := []int{rleEncoding, plainEncoding}
	if c.ids {
		encodings = append(encodings, idsEncoding)
	}
	if c.deltas {
		encodings = append(encodings, deltaEncoding)
	}
	t.list(2, thriftI32, len(encodings))
	for _, encoding := range encodings {
		t.element(encoding)
	}
	path := of.path()
	t.list(3, thriftBinary, len(path))
	for _, name := range path {
		t.text([]byte(name))
	}
	t.i32(4, zstdCodec)
	t.i64(5, c.entries)
	t.i64(6, c.text)
	t.i64(7, c.size)
	t.i64(9, c.data)
	if c.ids {
		t.i64(11, c.dictionary)
	}
	t.begin(12)
	t.i64(3, c.nulls)
	if c.bounded != unknownBounds {
		bounds := a.bounds[c.bounds:][:int(c.least)+int(c.most)]
		t.binary(5, bounds[c.least:])
		t.binary(6, bounds[:c.least])
		t.bool(7, c.bounded == exactBounds)
		t.bool(8, c.bounded == exactBounds)
	}
	t.end()
	if c.filterSize > 0 {
		t.i64(14, c.filter)
		t.i32(15, c.filterSize)
	}
	t.end()
	if c.places > 0 && a.indexed {
		t.i64(4, at.pages)
		t.i32(5, c.places)
		at.pages += int64(c.places)
	}
	if c.index > 0 && a.indexed {
		t.i64(6, at.columns)
		t.i32(7, c.index)
		at.columns += int64(c.index)
	}
	t.end()
}

// Close ends the file. It does not close the writer below.
func (a *assembler) Close() error {
	if a.err == nil {
		a.err = a.close()
	}
	a.arena.free()
	err := a.err
	if err == nil {
		a.err = errClosed
	}
	return err
}

var errClosed = errors.New("parquet: write to a file that has ended")

func (a *assembler) close() error {
	if err := errors.Join(a.endGroup(), a.begin()); err != nil {
		return err
	}
	at := &offsets{a.offset, a.offset + int64(len(a.columnIndexes))}
	if err := errors.Join(a.write(a.columnIndexes), a.write(a.offsetIndexes)); err != nil {
		return err
	}
	begin, rows := a.offset, int64(0)
	for _, g := range a.groups {
		rows += g.rows
	}
	t := &compact{}
	t.i32(1, 2) // the version
	elements := 1 + len(a.e.columns)
	for i := range a.e.columns {
		if a.e.columns[i].list != nil {
			elements += 2
		}
	}
	t.list(2, thriftStruct, elements)
	t.beginElement()
	t.string(4, "schema")
	t.i32(5, len(a.e.columns))
	t.end()
	for i := range a.e.columns {
		a.e.columns[i].appendSchema(t)
	}
	t.i64(3, rows)
	t.list(4, thriftStruct, len(a.groups))
	for i := range a.groups {
		a.appendGroup(t, &a.groups[i], a.chunks[i*len(a.e.columns):][:len(a.e.columns)], at)
		if err := a.write(t.buf); err != nil {
			return err
		}
		t.buf = t.buf[:0]
	}
	t.string(6, "culvert version 1.0.0") // of a form that readers parse
	t.list(7, thriftStruct, len(a.e.columns))
	for range a.e.columns {
		t.beginElement()
		t.empty(1) // bounds are in the order of the type
		t.end()
	}
	t.end()
	size := a.offset - begin + int64(len(t.buf))
	if size > math.MaxInt32 {
		return errors.New("parquet: the file has too many row groups for its metadata, whose size has 31 bits")
	}
	t.buf = append(t.buf, byte(size), byte(size>>8), byte(size>>16), byte(size>>24))
	if err := errors.Join(a.write(t.buf), a.write([]byte(magic))); err != nil {
		return err
	}
	return a.out.Flush()
}
