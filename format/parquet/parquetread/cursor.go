package parquetread

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"

	"culvert/format/internal/untyped"
)

// cursor reads a leaf of a row group, entry by entry. An entry has levels, and a value if its definition level is that
// of the leaf. A block of entries is decoded at a time.
type cursor struct {
	leaf   *leaf
	pages  pages
	values decoder

	left     int // entries of the page that are not decoded
	def, rep hybrid
	n, at    int // entries of the block
	value    int // the next value
	defs     []uint32
	reps     []uint32
	err      error // the first one
}

var (
	errFew    = errors.New("it has fewer values than rows")
	errMany   = errors.New("it has more values than rows")
	errLevels = errors.New("the levels of a page are damaged")
)

// more reports whether there is an entry. Then it is the one at c.at of the block.
func (c *cursor) more() (more bool, err error) {
	if c.at < c.n {
		return true, nil
	}
	if c.err != nil {
		return false, c.err
	}
	more, c.err = c.decode()
	return more, c.err
}

// decode decodes the next block, if there is one.
func (c *cursor) decode() (bool, error) {
	for c.left == 0 {
		if err := c.nextPage(); err == io.EOF {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	n := min(c.left, c.values.most())
	count := n
	if c.leaf.maxRep > 0 {
		c.reps = sized(c.reps, n)
		if err := c.rep.read(c.reps); err != nil {
			return false, err
		}
		if !within(c.reps, c.leaf.maxRep) {
			return false, errLevels
		}
	}
	if most := c.leaf.maxDef; most > 0 {
		c.defs = sized(c.defs, n)
		if err := c.def.read(c.defs); err != nil {
			return false, err
		}
		if !within(c.defs, most) {
			return false, errLevels
		}
		count = 0
		for _, d := range c.defs {
			if d == uint32(most) {
				count++
			}
		}
	}
	if err := c.values.next(count); err != nil {
		return false, err
	}
	c.left -= n
	c.n, c.at, c.value = n, 0, 0
	return true, nil
}

func within(levels []uint32, most int) bool {
	for _, v := range levels {
		if v > uint32(most) {
			return false
		}
	}
	return true
}

// nextPage begins the next page with values, after the dictionary.
func (c *cursor) nextPage() error {
	for {
		h, text, err := c.pages.next()
		if err != nil {
			return err
		}
		switch h.kind {
		case dataPage:
			return c.beginPage(&h, text)
		case dataPage2:
			return c.beginPage2(&h, text)
		case dictionaryPage:
			if c.values.dict.known {
				return errPage
			}
			c.pages.take()
			if err := c.values.setDictionary(c.pages.mem, text, h.values); err != nil {
				return err
			}
		case indexPage: // never written
		default:
			return errPage
		}
	}
}

// beginPage begins a page whose levels have their sizes before them.
func (c *cursor) beginPage(h *pageHeader, text []byte) (err error) {
	levels := func(most, encoding int) (h hybrid, err error) {
		if most == 0 {
			return h, nil
		}
		if encoding != rleEncoding {
			return h, errors.New("levels in the old encoding BIT_PACKED are not read")
		}
		if len(text) < 4 || uint64(binary.LittleEndian.Uint32(text)) > uint64(len(text)-4) {
			return h, errEnds
		}
		end := 4 + binary.LittleEndian.Uint32(text)
		h, err = newHybrid(text[4:end], bits.Len(uint(most)))
		text = text[end:]
		return h, err
	}
	if c.rep, err = levels(c.leaf.maxRep, h.levels[1]); err != nil {
		return err
	}
	if c.def, err = levels(c.leaf.maxDef, h.levels[0]); err != nil {
		return err
	}
	return c.begin(h, text)
}

// beginPage2 begins a page of version 2, whose header has the sizes of the levels.
func (c *cursor) beginPage2(h *pageHeader, text []byte) (err error) {
	if c.rep, err = newHybrid(text[:h.repSize], bits.Len(uint(c.leaf.maxRep))); err != nil {
		return err
	}
	text = text[h.repSize:]
	if c.def, err = newHybrid(text[:h.defSize], bits.Len(uint(c.leaf.maxDef))); err != nil {
		return err
	}
	return c.begin(h, text[h.defSize:])
}

func (c *cursor) begin(h *pageHeader, values []byte) error {
	err := c.values.begin(h.encoding, values, h.values)
	if err == nil {
		c.left = h.values
	}
	return err
}

// levels returns those of the entry.
func (c *cursor) levels() (def, rep int) {
	if c.leaf.maxRep > 0 {
		rep = int(c.reps[c.at])
	}
	if c.leaf.maxDef > 0 {
		return int(c.defs[c.at]), rep
	}
	return 0, rep
}

// take appends the text of the entry's value to dst, or nothing if it has none, and goes on to the next entry.
func (c *cursor) take(dst []byte) (_ []byte, isNull bool, why untyped.Reason) {
	at := c.at
	c.at++
	if c.leaf.maxDef > 0 && c.defs[at] < uint32(c.leaf.maxDef) {
		return dst, true, ""
	}
	v := c.value
	c.value++
	if c.leaf.physical.isInt() {
		dst, why = c.leaf.printer.AppendInt(dst, c.values.ints[v])
	} else {
		dst, why = c.leaf.printer.AppendBytes(dst, c.values.texts[v])
	}
	return dst, false, why
}

// end fails if there are entries after the last row.
func (c *cursor) end() error {
	more, err := c.more()
	if err == nil && more {
		err = errMany
	}
	return err
}
