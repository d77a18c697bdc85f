package parquet

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/bits"
)

// assembler writes a file from the records of an encoder. It collects the pages of blocks until they are a row group,
// and then writes them by column. It fails if the writer below fails, or if the file has too many row groups.
type assembler struct {
	e      *encoder
	out    *bufio.Writer
	offset int64 // in the file
	err    error

	// The row group that is collected.
	pages []page // of the columns in turn
	arena arena
	rows  int64
	text  int64 // bytes of pages before compression
	dicts []dictionary

	inDicts int // bytes of all dictionaries

	filters []filter // of the columns, or nil if none has one
	full    bool     // a filter has as many values as it is made for

	// The row groups in the file, the columns of each in turn, and the indexes of their pages.
	groups        []group
	chunks        []chunk
	bounds        []byte
	columnIndexes []byte
	offsetIndexes []byte
	indexed       bool // the indexes are not too large

	// Scratch.
	meta    compact
	page    []byte
	packed  []byte
	entries [][]byte // of a block's dictionary
	united  []uint32 // their ids in the row group
	ids     []uint32
	least   []byte
	most    []byte
}

// page is a page in the arena: its bounds, and then its bytes.
type page struct {
	place       uint32
	size, text  uint32 // of its bytes, and before compression
	rows        uint32
	entries     uint32 // rows, but of lists see lists.go
	nulls       uint32 // entries without a value
	header      uint16 // bytes of its header in the file
	form        byte
	bounded     byte // the form of its bounds
	least, most byte // bytes of its bounds
}

// Assemble returns the writer that makes a file of the blocks of the encoder. See [format.Assembled].
func (e *encoder) Assemble(w io.Writer) io.WriteCloser {
	const buffer = 64 << 10
	return &assembler{
		e: e, out: bufio.NewWriterSize(w, buffer), dicts: make([]dictionary, len(e.columns)), indexed: true,
	}
}

// Write adds whole records.
func (a *assembler) Write(records []byte) (int, error) {
	for rest := records; len(rest) > 0 && a.err == nil; {
		size := recordHead + int(binary.LittleEndian.Uint32(rest[1:]))
		a.err = a.add(rest[0], rest[recordHead:size])
		rest = rest[size:]
	}
	if a.err != nil {
		return 0, a.err
	}
	return len(records), nil
}

func (a *assembler) add(kind byte, record []byte) error {
	fields := &reader{record}
	switch kind {
	case blockRecord:
		a.addBlock(fields)
		l := a.e.limits
		if a.text >= int64(l.groupText) || a.arena.size >= l.groupBytes || len(a.pages) >= l.groupPages ||
			a.full {
			return a.endGroup()
		}
		return nil
	case groupRecord:
		if err := a.endGroup(); err != nil {
			return err
		}
		a.rows = int64(fields.uvarint())
		return a.begin()
	case bytesRecord:
		return a.write(record)
	case chunkRecord:
		return a.addLarge(fields)
	}
	panic("parquet: no such record")
}

// reader reads the fields of a record.
type reader struct{ rest []byte }

func (r *reader) byte() byte {
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) uvarint() int {
	v, n := binary.Uvarint(r.rest)
	r.rest = r.rest[n:]
	return int(v)
}

func (r *reader) bytes(n int) []byte {
	v := r.rest[:n]
	r.rest = r.rest[n:]
	return v
}

// addBlock adds the pages of a block.
func (a *assembler) addBlock(fields *reader) {
	rows := fields.uvarint()
	for i := range a.e.columns {
		p := page{form: fields.byte(), rows: uint32(rows)}
		p.entries, p.nulls = uint32(fields.uvarint()), uint32(fields.uvarint())
		a.addBounds(&p, fields)
		a.addHashes(i, fields)
		if p.form == idsForm {
			a.addIDs(&p, i, fields)
		} else {
			p.text = uint32(fields.uvarint())
			a.addPage(&p, fields.bytes(fields.uvarint()))
		}
		a.text += int64(p.text)
	}
	a.rows += int64(rows)
}

// addBounds takes over the bounds of a page.
func (a *assembler) addBounds(p *page, fields *reader) {
	p.place = uint32(a.arena.size)
	if p.bounded = fields.byte(); p.bounded != unknownBounds {
		p.least, p.most = fields.byte(), fields.byte()
		a.arena.add(fields.bytes(int(p.least) + int(p.most)))
	}
}

func (a *assembler) addPage(p *page, packed []byte) {
	p.size = uint32(len(packed))
	a.arena.add(packed)
	a.pages = append(a.pages, *p)
}

// addIDs makes a page of a column whose values repeat: with the ids that they have in the row group, or with the values
// if they are too many for a dictionary.
func (a *assembler) addIDs(p *page, i int, fields *reader) {
	a.page = append(a.page[:0], fields.bytes(fields.uvarint())...) // levels
	a.findEntries(&a.e.columns[i], fields.uvarint(), fields.bytes(fields.uvarint()))
	ids := fields.bytes(2 * fields.uvarint())
	if a.unite(i) {
		a.appendIDs(ids)
	} else {
		p.form = plainForm
		for ; len(ids) > 0; ids = ids[2:] {
			a.page = append(a.page, a.entries[binary.LittleEndian.Uint16(ids)]...)
		}
	}
	p.text = uint32(len(a.page))
	a.packed = a.e.codec.AppendFrame(a.packed[:0], a.page)
	a.addPage(p, a.packed)
}

// findEntries finds the values of a block's dictionary.
func (a *assembler) findEntries(c *column, n int, values []byte) {
	a.entries = a.entries[:0]
	for range n {
		value := c.nextValue(values)
		a.entries = append(a.entries, value)
		values = values[len(value):]
	}
}

// unite finds the id that each entry has in the row group. If its dictionary would become too large, the column has
// none from now on: in this row group only pages, and in later ones not even blocks.
func (a *assembler) unite(i int) bool {
	d, l := &a.dicts[i], a.e.limits
	if d.full {
		return false
	}
	before := d.memory()
	a.united = a.united[:0]
	for _, value := range a.entries {
		if len(d.page)+len(value) > l.dictionary || a.inDicts+d.memory()-before > l.all {
			d.full = true
			a.e.varied[i].Store(true)
			break
		}
		a.united = append(a.united, d.id(value))
	}
	a.inDicts += d.memory() - before
	return !d.full
}

// appendIDs appends ids of two bytes, as those in the row group.
func (a *assembler) appendIDs(ids []byte) {
	a.ids = a.ids[:0]
	most := uint32(0)
	for ; len(ids) > 0; ids = ids[2:] {
		id := a.united[binary.LittleEndian.Uint16(ids)]
		most = max(most, id)
		a.ids = append(a.ids, id)
	}
	width := max(1, bits.Len32(most))
	a.page = appendIDs(append(a.page, byte(width)), a.ids, width)
}
