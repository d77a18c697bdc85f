package parquet

import "errors"

// The numbers of the specification in page headers, column chunks and the file.
const (
	magic = "PAR1"

	dataPage       = 0
	dictionaryPage = 2

	plainEncoding = 0
	rleEncoding   = 3
	deltaEncoding = 5 // DELTA_BINARY_PACKED
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
		c.ids = c.ids || p.form == idsForm
		c.deltas = c.deltas || p.form == deltaForm
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
	switch p.form {
	case idsForm:
		encoding = idsEncoding
	case deltaForm:
		encoding = deltaEncoding
	}
	c.reset()
	c.i32(1, dataPage)
	c.i32(2, int(p.text))
	c.i32(3, int(p.size))
	c.begin(5)
	c.i32(1, int(p.entries))
	c.i32(2, encoding)
	c.i32(3, rleEncoding) // of definition levels
	c.i32(4, rleEncoding) // of repetition levels, which only lists have
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

// finishGroup makes the indexes of a row group whose pages are in the file, and begins the next one.
func (a *assembler) finishGroup() error {
	g := group{rows: a.rows}
	if err := a.writeFilters(a.chunks[len(a.chunks)-len(a.e.columns):]); err != nil {
		return err
	}
	for i := range a.e.columns {
		c := &a.chunks[len(a.chunks)-len(a.e.columns)+i]
		g.text, g.size = g.text+c.text, g.size+c.size
		a.setStatistics(c, i)
		if a.indexed {
			a.addIndexes(c, i)
		}
	}
	a.groups = append(a.groups, g)
	if len(a.columnIndexes)+len(a.offsetIndexes) > a.e.limits.indexes {
		a.indexed, a.columnIndexes, a.offsetIndexes = false, nil, nil
	}
	a.rows, a.text, a.inDicts, a.arena.size, a.pages = 0, 0, 0, 0, a.pages[:0]
	for i := range a.dicts {
		a.dicts[i].reset()
	}
	return nil
}

// addIndexes adds the indexes of a column of a row group. They are written before the footer, as some readers demand.
func (a *assembler) addIndexes(c *chunk, i int) {
	if a.hasBounds(i) {
		index := a.columnIndex(i)
		a.columnIndexes, c.index = append(a.columnIndexes, index...), len(index)
	}
	places := a.offsetIndex(c, i)
	a.offsetIndexes, c.places = append(a.offsetIndexes, places...), len(places)
}

// hasBounds reports whether all pages of a column that have values have bounds.
func (a *assembler) hasBounds(column int) bool {
	for p := range a.columnPages(column) {
		if p.nulls < p.entries && p.bounded == unknownBounds {
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
		if p.nulls == p.entries {
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
		if p.nulls == p.entries {
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

func (a *assembler) offsetIndex(of *chunk, column int) []byte {
	t, offset, row := &a.meta, of.data, int64(0)
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
