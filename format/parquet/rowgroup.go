package parquet

import (
	"errors"
	"math"
)

// The numbers of the specification in page headers, column chunks and the file.
const (
	magic = "PAR1"

	dataPage       = 0
	dictionaryPage = 2

	plainEncoding = 0
	rleEncoding   = 3
	idsEncoding   = 8 // RLE_DICTIONARY

	zstdCodec = 6

	unordered = 0
	ascending = 1
)

func (a *assembler) write(p []byte) error {
	n, err := a.out.Write(p)
	a.offset += int64(n)
	return err
}

// begin begins the file, unless it has begun.
func (a *assembler) begin() error {
	if a.offset > 0 {
		return nil
	}
	return a.write([]byte(magic))
}

// columnPages returns the pages of a column, in steps of the number of columns.
func (a *assembler) columnPages(column int) func(yield func(*page) bool) {
	return func(yield func(*page) bool) {
		for at := column; at < len(a.pages); at += len(a.e.columns) {
			if !yield(&a.pages[at]) {
				return
			}
		}
	}
}

// endGroup writes the row group that was collected, if there is one.
func (a *assembler) endGroup() error {
	if len(a.pages) == 0 {
		return nil
	}
	if err := a.begin(); err != nil {
		return err
	}
	a.chunks = a.chunks[:0]
	for i := range a.e.columns {
		if err := a.writeChunk(i); err != nil {
			return err
		}
	}
	return a.finishGroup()
}

// writeChunk writes the pages of a column.
func (a *assembler) writeChunk(i int) error {
	c, begin := chunk{}, a.offset
	for p := range a.columnPages(i) {
		c.plain = c.plain || p.form == plainForm
		c.ids = c.ids || p.form == idsForm
	}
	if d := &a.dicts[i]; c.ids {
		c.dictionary = a.offset
		a.packed = a.e.codec.AppendFrame(a.packed[:0], d.page)
		header := a.meta.dictionaryHeader(len(d.page), len(a.packed), len(d.ends))
		c.text = int64(len(header) + len(d.page))
		if err := errors.Join(a.write(header), a.write(a.packed)); err != nil {
			return err
		}
	}
	c.data = a.offset
	for p := range a.columnPages(i) {
		header := a.meta.dataHeader(p)
		p.header = uint16(len(header))
		c.text += int64(len(header)) + int64(p.text)
		if err := a.write(header); err != nil {
			return err
		}
		if err := a.arena.writeTo(a.out, p.data(), int(p.size)); err != nil {
			return err
		}
		a.offset += int64(p.size)
	}
	c.size = a.offset - begin
	a.chunks = append(a.chunks, c)
	return nil
}

// data returns the place of the page in the arena, behind its bounds.
func (p *page) data() int { return int(p.place) + int(p.least) + int(p.most) }

// dataHeader returns the header of a page. It is valid until the next call.
func (c *compact) dataHeader(p *page) []byte {
	encoding := plainEncoding
	if p.form == idsForm {
		encoding = idsEncoding
	}
	c.reset()
	c.i32(1, dataPage)
	c.i32(2, int(p.text))
	c.i32(3, int(p.size))
	c.begin(5)
	c.i32(1, int(p.rows))
	c.i32(2, encoding)
	c.i32(3, rleEncoding) // of definition levels
	c.i32(4, rleEncoding) // of repetition levels, which there are none of
	c.end()
	c.end()
	return c.buf
}

func (c *compact) dictionaryHeader(text, size, entries int) []byte {
	c.reset()
	c.i32(1, dictionaryPage)
	c.i32(2, text)
	c.i32(3, size)
	c.begin(7)
	c.i32(1, entries)
	c.i32(2, plainEncoding)
	c.end()
	c.end()
	return c.buf
}

// finishGroup writes the indexes of a row group whose pages are in the file, and begins the next one. The indexes are
// beside their row group, so that they do not stay in memory.
func (a *assembler) finishGroup() error {
	for i := range a.chunks {
		c := &a.chunks[i]
		if a.hasBounds(i) {
			c.index.offset = a.offset
			if err := a.write(a.columnIndex(i)); err != nil {
				return err
			}
			c.index.size = a.offset - c.index.offset
		}
	}
	for i := range a.chunks {
		c := &a.chunks[i]
		c.places.offset = a.offset
		if err := a.write(a.offsetIndex(i)); err != nil {
			return err
		}
		c.places.size = a.offset - c.places.offset
	}
	a.appendGroup()
	a.groups++
	a.allRows += a.rows
	a.rows, a.text, a.inDicts, a.arena.size, a.pages = 0, 0, 0, 0, a.pages[:0]
	for i := range a.dicts {
		a.dicts[i].reset()
	}
	if len(a.footer) > mostMetadata {
		return errors.New("parquet: the file has too many row groups for its metadata")
	}
	return nil
}

// mostMetadata leaves room for the schema in what has 31 bits.
const mostMetadata = math.MaxInt32 - 64<<20

// hasBounds reports whether all pages of a column that have values have bounds.
func (a *assembler) hasBounds(column int) bool {
	for p := range a.columnPages(column) {
		if p.nulls < p.rows && p.bounded == unknownBounds {
			return false
		}
	}
	return true
}

// boundsOf appends the bounds of a page to scratch.
func (a *assembler) boundsOf(p *page) (least, most []byte) {
	a.page = a.arena.append(a.page[:0], int(p.place), int(p.least)+int(p.most))
	return a.page[:p.least], a.page[p.least:]
}

func (a *assembler) columnIndex(column int) []byte {
	t, pages := &a.meta, len(a.pages)/len(a.e.columns)
	t.reset()
	t.list(1, thriftTrue, pages) // whether all are NULL
	for p := range a.columnPages(column) {
		if p.nulls == p.rows {
			t.buf = append(t.buf, thriftTrue)
		} else {
			t.buf = append(t.buf, thriftFalse)
		}
	}
	t.list(2, thriftBinary, pages)
	for p := range a.columnPages(column) {
		least, _ := a.boundsOf(p)
		t.text(least)
	}
	t.list(3, thriftBinary, pages)
	for p := range a.columnPages(column) {
		_, most := a.boundsOf(p)
		t.text(most)
	}
	t.i32(4, a.orderOf(column))
	t.list(5, thriftI64, pages)
	for p := range a.columnPages(column) {
		t.element(int(p.nulls))
	}
	t.end()
	return t.buf
}

// orderOf reports whether no page has a bound that is less than that of the page before.
func (a *assembler) orderOf(column int) int {
	c, first := &a.e.columns[column], true
	for p := range a.columnPages(column) {
		if p.nulls == p.rows {
			continue
		}
		least, most := a.boundsOf(p)
		if !first && (c.compare(a.least, least) > 0 || c.compare(a.most, most) > 0) {
			return unordered
		}
		a.least, a.most, first = append(a.least[:0], least...), append(a.most[:0], most...), false
	}
	return ascending
}

func (a *assembler) offsetIndex(column int) []byte {
	t, offset, row := &a.meta, a.chunks[column].data, int64(0)
	t.reset()
	t.list(1, thriftStruct, len(a.pages)/len(a.e.columns))
	for p := range a.columnPages(column) {
		size := int64(p.header) + int64(p.size)
		t.beginElement()
		t.i64(1, offset)
		t.i32(2, int(size))
		t.i64(3, row)
		t.end()
		offset, row = offset+size, row+int64(p.rows)
	}
	t.end()
	return t.buf
}

// appendGroup appends the metadata of a row group to the footer.
func (a *assembler) appendGroup() {
	t := &a.meta
	t.reset()
	t.buf, a.footer = a.footer, nil
	text, size := int64(0), int64(0)
	t.beginElement()
	t.list(1, thriftStruct, len(a.chunks))
	for i := range a.chunks {
		a.appendChunk(t, i)
		text, size = text+a.chunks[i].text, size+a.chunks[i].size
	}
	t.i64(2, text)
	t.i64(3, a.rows)
	t.i64(5, a.chunks[0].begin())
	t.i64(6, size)
	t.end()
	a.footer, t.buf = t.buf, nil
}

func (c *chunk) begin() int64 {
	if c.ids {
		return c.dictionary
	}
	return c.data
}

// appendChunk appends the metadata of a column of a row group.
func (a *assembler) appendChunk(t *compact, column int) {
	c := &a.chunks[column]
	t.beginElement()
	t.i64(2, 0) // a field without a use, which is to be 0
	t.begin(3)
	t.i32(1, int(a.e.columns[column].physical))
	encodings := []int{rleEncoding}
	if c.plain || c.ids { // that of the dictionary
		encodings = append(encodings, plainEncoding)
	}
	if c.ids {
		encodings = append(encodings, idsEncoding)
	}
	t.list(2, thriftI32, len(encodings))
	for _, encoding := range encodings {
		t.element(encoding)
	}
	t.list(3, thriftBinary, 1)
	t.text([]byte(a.e.columns[column].name))
	t.i32(4, zstdCodec)
	t.i64(5, a.rows)
	t.i64(6, c.text)
	t.i64(7, c.size)
	t.i64(9, c.data)
	if c.ids {
		t.i64(11, c.dictionary)
	}
	t.begin(12)
	a.appendStatistics(t, column)
	t.end()
	t.end()
	t.i64(4, c.places.offset)
	t.i32(5, int(c.places.size))
	if c.index.size > 0 {
		t.i64(6, c.index.offset)
		t.i32(7, int(c.index.size))
	}
	t.end()
}

// appendStatistics appends the number of NULLs and the bounds of a column of a row group.
func (a *assembler) appendStatistics(t *compact, column int) {
	c, nulls, known, exact := &a.e.columns[column], int64(0), false, true
	for p := range a.columnPages(column) {
		if nulls += int64(p.nulls); p.nulls == p.rows {
			continue
		}
		exact = exact && p.bounded == exactBounds
		least, most := a.boundsOf(p)
		if !known || p.bounded != unknownBounds && c.compare(least, a.least) < 0 {
			a.least = append(a.least[:0], least...)
		}
		if !known || p.bounded != unknownBounds && c.compare(most, a.most) > 0 {
			a.most = append(a.most[:0], most...)
		}
		known = true
	}
	t.i64(3, nulls)
	if known && a.hasBounds(column) {
		t.binary(5, a.most)
		t.binary(6, a.least)
		t.bool(7, exact)
		t.bool(8, exact)
	}
}

// Close ends the file. It does not close the writer below.
func (a *assembler) Close() error {
	if a.err == nil {
		a.err = a.close()
	}
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
	begin := a.offset
	t := &compact{}
	t.i32(1, 2) // the version
	t.list(2, thriftStruct, 1+len(a.e.columns))
	t.beginElement()
	t.string(4, "schema")
	t.i32(5, len(a.e.columns))
	t.end()
	for i := range a.e.columns {
		a.e.columns[i].appendSchema(t)
	}
	t.i64(3, a.allRows)
	t.list(4, thriftStruct, a.groups)
	if err := errors.Join(a.write(t.buf), a.write(a.footer)); err != nil {
		return err
	}
	t.buf = t.buf[:0]
	t.string(6, "culvert version 1.0.0") // of a form that readers parse
	t.list(7, thriftStruct, len(a.e.columns))
	for range a.e.columns {
		t.beginElement()
		t.empty(1) // bounds are in the order of the type
		t.end()
	}
	t.end()
	size := a.offset - begin + int64(len(t.buf))
	t.buf = append(t.buf, byte(size), byte(size>>8), byte(size>>16), byte(size>>24))
	if err := errors.Join(a.write(t.buf), a.write([]byte(magic))); err != nil {
		return err
	}
	return a.out.Flush()
}
