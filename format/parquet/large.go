package parquet

import (
	"encoding/binary"

	"culvert/format/internal/typed"
	"culvert/source"
)

// A batch with rows that are too large for a block becomes a row group of its own, of a page for each column. Its pages
// go to the file in pieces, so they are never in memory as a whole. But the size of a page, compressed, is before it:
// so each is compressed twice, at first only for its size. A page consists of several zstd frames, which decoders of
// pages read as one, as the zstd program does.

// frameSize is the most text of such a frame.
const frameSize = 256 << 10

// largePage makes the page of a column in pieces.
type largePage struct {
	e      *encoder
	c      *column
	column int // of the batch
	b      *source.Batch
	s      *scratch

	place int // of the column in the file
	page
	emit func(packed []byte) error
}

// appendGroup appends the records of a row group.
func (e *encoder) appendGroup(
	dst []byte, b *source.Batch, s *scratch, size int, next func([]byte) ([]byte, error),
) (_ []byte, err error) {
	at := len(dst)
	dst = endRecord(binary.AppendUvarint(beginRecord(dst, groupRecord), uint64(b.Rows())), at)
	for i := range e.columns {
		p := &largePage{e: e, c: &e.columns[i], place: i, column: i, b: b, s: s}
		if list := p.c.list; list != nil {
			if err := s.lists.Set(list, b, i); err != nil {
				return dst, err
			}
			p.b, p.column = &s.lists.Batch, 0
		}
		p.form, p.rows, p.entries = plainForm, uint32(b.Rows()), uint32(s.entries(p.c, b.Rows()))
		text, packed := 0, 0
		p.emit = func(frame []byte) error {
			packed += len(frame)
			return nil
		}
		if text, err = p.make(); err != nil {
			if p.c.list != nil {
				err = s.lists.Placed(err)
			}
			return dst, err
		}
		if text > typed.MaxValue || packed > typed.MaxValue {
			return dst, p.c.Unfit(0, "its row is too large: the values of a column in a page must have less than 2 GiB")
		}
		p.text, p.size = uint32(text), uint32(packed)
		var meta compact
		header := meta.dataHeader(&p.page)
		at := len(dst)
		dst = endRecord(append(beginRecord(dst, bytesRecord), header...), at)
		p.emit = func(frame []byte) error {
			at := len(dst)
			dst = endRecord(append(beginRecord(dst, bytesRecord), frame...), at)
			if len(dst) >= size {
				dst, err = next(dst)
			}
			return err
		}
		if _, err = p.make(); err != nil {
			return dst, err
		}
		dst = p.appendChunk(dst, len(header))
	}
	return dst, nil
}

// appendChunk appends the record that ends a column.
func (p *largePage) appendChunk(dst []byte, header int) []byte {
	at := len(dst)
	dst = binary.AppendUvarint(beginRecord(dst, chunkRecord), uint64(p.entries))
	dst = binary.AppendUvarint(dst, uint64(p.nulls))
	dst = p.e.appendSums(p.s.bounds.append(dst), p.place, p.s.hashes)
	dst = binary.AppendUvarint(dst, uint64(header))
	dst = binary.AppendUvarint(dst, uint64(p.text))
	return endRecord(binary.AppendUvarint(dst, uint64(p.size)), at)
}

// make emits the page, compressed, in frames, and returns its size before that.
func (p *largePage) make() (text int, err error) {
	s, rows := p.s, p.b.Rows()
	nulls, err := s.setPresent(p.c, p.b, p.column)
	if err != nil {
		return 0, err
	}
	p.nulls = p.entries - uint32(rows-nulls)
	s.page = s.appendLevels(s.page[:0], p.c, rows, nulls)
	text, s.hashes = len(s.page), s.hashes[:0]
	if p.c.physical != byteArray {
		return p.makeSmall(len(s.page))
	}
	var least, most []byte
	for row := range rows {
		kind, value := p.b.AnyValue(row, p.column)
		if kind == source.Null {
			continue
		}
		if why := p.c.Check(kind, value); why != "" {
			return 0, p.c.Unfit(row, why)
		}
		if least == nil || string(value) < string(least) {
			least = value
		}
		if most == nil || string(value) > string(most) {
			most = value
		}
		if p.e.filtered[p.place] {
			s.hashes = appendHash(s.hashes, value)
		}
		s.page = binary.LittleEndian.AppendUint32(s.page, uint32(len(value)))
		text += 4 + len(value)
		for len(value) > 0 {
			n := min(len(value), frameSize-min(len(s.page), frameSize-1))
			s.page = append(s.page, value[:n]...)
			if value = value[n:]; len(s.page) >= frameSize {
				if err := p.flush(); err != nil {
					return 0, err
				}
			}
		}
	}
	if s.bounds.known = false; nulls < rows {
		s.bounds.set(p.c, least, most)
	}
	return text, p.flush()
}

// makeSmall emits a page of values that take a few bytes each.
func (p *largePage) makeSmall(levels int) (text int, err error) {
	s := p.s
	for row := range p.b.Rows() {
		kind, value := p.b.AnyValue(row, p.column)
		if kind == source.Null {
			continue
		}
		var why typed.Reason
		if s.page, why = p.c.appendValue(s.page, kind, value, &s.values); why != "" {
			return 0, p.c.Unfit(row, why)
		}
	}
	s.bounds.find(p.c, s.page[levels:])
	s.hashes = p.e.appendHashes(s.hashes, p.place, s.page[levels:])
	if p.c.physical == boolean {
		s.packed = append(s.packed[:0], s.page[levels:]...)
		s.page = appendBooleans(s.page[:levels], s.packed)
	}
	return len(s.page), p.flush()
}

// flush emits what there is of the page, in frames. Levels, and elements of lists, may be more than one.
func (p *largePage) flush() error {
	page := p.s.page
	p.s.page = page[:0]
	for {
		n := len(page)
		if n > frameSize+frameSize/4 {
			n = frameSize
		}
		p.s.packed = p.e.codec.AppendFrame(p.s.packed[:0], page[:n])
		if err := p.emit(p.s.packed); err != nil || n == len(page) {
			return err
		}
		page = page[n:]
	}
}

// addLarge adds a column of a row group whose pages are in the file already.
func (a *assembler) addLarge(fields *reader) error {
	p := page{form: plainForm, rows: uint32(a.rows), entries: uint32(fields.uvarint()), nulls: uint32(fields.uvarint())}
	a.addBounds(&p, fields)
	a.addHashes(len(a.chunks)%len(a.e.columns), fields)
	p.header, p.text, p.size = uint16(fields.uvarint()), uint32(fields.uvarint()), uint32(fields.uvarint())
	a.pages = append(a.pages, p)
	size := int64(p.header) + int64(p.size)
	a.chunks = append(a.chunks, chunk{
		data: a.offset - size, size: size, text: int64(p.header) + int64(p.text),
	})
	if len(a.chunks)%len(a.e.columns) == 0 {
		return a.finishGroup()
	}
	return nil
}
