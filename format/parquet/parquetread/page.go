package parquetread

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The kinds of pages, and the encodings of values, by the numbers of the specification.
const (
	dataPage       = 0
	indexPage      = 1
	dictionaryPage = 2
	dataPage2      = 3

	plainEncoding   = 0
	oldDictionary   = 2
	rleEncoding     = 3
	deltaEncoding   = 5
	deltaLengths    = 6
	deltaByteArrays = 7
	dictionaryIDs   = 8
	byteStreamSplit = 9
	largestHeader   = 1 << 20 // bytes, of which most are statistics
	headerGuess     = 256
	readSize        = 256 << 10
	largestPage     = 1<<30 + 1<<20
	perLeaf         = 4 << 20
	mostOpen        = 1<<30 + 64<<20
)

// pageHeader is the head of a page.
type pageHeader struct {
	kind, size, packed int
	crc                uint32
	hasCRC             bool
	values             int
	encoding           int
	levels             [2]int // the encodings of definition and repetition levels
	defSize, repSize   int    // of a page of version 2
	plain              bool   // the values of such a page are not compressed
}

// memory counts what the pages of some rows take together.
type memory struct{ used, most int64 }

var errMemory = errors.New("its pages take too much memory")

// grow returns a buffer with room for n bytes, in place of another.
func (m *memory) grow(buf []byte, n int) ([]byte, error) {
	if cap(buf) >= n {
		return buf[:0], nil
	}
	if m.used += int64(n - cap(buf)); m.used > m.most {
		return nil, errMemory
	}
	return make([]byte, 0, n), nil
}

// pages reads the pages of a column of a row group one after the other.
type pages struct {
	f    *file
	mem  *memory
	k    chunk
	at   int64 // in the file, behind what is in window
	end  int64
	rest []byte // read, and not yet taken
	all  []byte // the memory of rest
	text []byte // of the last page
}

func (p *pages) open(f *file, mem *memory, k chunk) error {
	p.f, p.mem, p.k, p.at, p.end = f, mem, k, k.begin, k.begin+k.size
	if k.err != nil {
		return k.err
	}
	return k.codec.check()
}

// peek returns at least n bytes, or as many as there are.
func (p *pages) peek(n int) ([]byte, error) {
	if len(p.rest) >= n || p.at == p.end {
		return p.rest, nil
	}
	left := int64(len(p.rest)) + p.end - p.at
	want := int(min(int64(max(n, readSize)), left))
	if cap(p.all) < want {
		all, err := p.mem.grow(p.all, want)
		if err != nil {
			return nil, err
		}
		all = append(all, p.rest...)
		p.all = all
	} else {
		p.all = append(p.all[:0], p.rest...)
	}
	have := len(p.all)
	p.all = p.all[:want]
	if err := readAt(p.f.src, p.all[have:], p.at); err != nil {
		return nil, err
	}
	p.at += int64(want - have)
	p.rest = p.all
	return p.rest, nil
}

// header reads the head of the next page. The error is io.EOF after the last one.
func (p *pages) header() (h pageHeader, err error) {
	for n := headerGuess; ; n *= 4 {
		text, err := p.peek(n)
		if err != nil {
			return h, err
		}
		if len(text) == 0 {
			return h, io.EOF
		}
		c := &compact{rest: text[:min(n, len(text))]}
		h = pageHeader{}
		c.pageHeader(&h)
		switch {
		case c.err == nil:
			p.rest = text[min(n, len(text))-len(c.rest):]
			return h, nil
		case n >= len(text) || n >= largestHeader || !errors.Is(c.err, errShort):
			return h, c.err
		}
	}
}

// pageHeader reads a PageHeader.
func (c *compact) pageHeader(h *pageHeader) {
	number := func(v *int, kind byte) bool {
		if kind == thriftI32 {
			*v = int(int32(c.integer()))
		}
		return kind == thriftI32
	}
	c.structure(func(id int, kind byte) bool {
		switch id {
		case 1:
			return number(&h.kind, kind)
		case 2:
			return number(&h.size, kind)
		case 3:
			return number(&h.packed, kind)
		case 4:
			crc := 0
			h.hasCRC = number(&crc, kind)
			h.crc = uint32(crc)
			return h.hasCRC
		}
		if kind != thriftStruct || id != 5 && id != 7 && id != 8 {
			return false
		}
		c.structure(func(field int, kind byte) bool {
			switch {
			case field == 1:
				return number(&h.values, kind)
			case field == 2 && id != 8, field == 4 && id == 8:
				return number(&h.encoding, kind)
			case field == 3 && id == 5, field == 4 && id == 5:
				return number(&h.levels[field-3], kind)
			case field == 5 && id == 8:
				return number(&h.defSize, kind)
			case field == 6 && id == 8:
				return number(&h.repSize, kind)
			case field == 7 && id == 8:
				h.plain = kind == thriftFalse
				return true
			}
			return false
		})
		return true
	})
}

// next returns the next page, decompressed. Its text is valid until the next call. What follows h.defSize and h.repSize
// bytes of levels is compressed alone in pages of version 2.
func (p *pages) next() (h pageHeader, text []byte, err error) {
	if h, err = p.header(); err != nil {
		return h, nil, err
	}
	left := int64(len(p.rest)) + p.end - p.at
	levels := h.defSize + h.repSize
	switch {
	case h.size < 0 || h.packed < 0 || h.values < 0 || int64(h.packed) > left || h.defSize < 0 || h.repSize < 0 ||
		levels > h.size || levels > h.packed:
		return h, nil, errPage
	case h.size > largestPage:
		return h, nil, fmt.Errorf("a page has %d bytes, and at most %d are read", h.size, largestPage)
	}
	packed, err := p.peek(h.packed)
	if err != nil {
		return h, nil, err
	}
	packed = packed[:h.packed]
	p.rest = p.rest[h.packed:]
	if h.hasCRC && crc32.ChecksumIEEE(packed) != h.crc {
		return h, nil, errors.New("a page does not have its checksum")
	}
	c := p.k.codec
	if h.plain {
		c = uncompressed
	}
	size := h.size - levels
	if int64(size) > int64(h.packed-levels)*c.ratio()+slack {
		return h, nil, errPacked
	}
	if p.text, err = p.mem.grow(p.text, levels+frameBuffer(size)); err != nil {
		return h, nil, err
	}
	buf := p.text[:cap(p.text)]
	copy(buf, packed[:levels])
	if size > 0 || len(packed) > levels {
		if _, err := p.f.unpack(c, buf[levels:levels:cap(buf)], packed[levels:], size); err != nil {
			return h, nil, err
		}
	}
	return h, buf[:h.size], nil
}

// take gives the memory of the last text to the caller.
func (p *pages) take() { p.text = nil }
