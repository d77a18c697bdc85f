package parquetread

import "encoding/binary"

// delta reads DELTA_BINARY_PACKED: a first value, and the differences between neighbours in blocks of miniblocks, each
// with a width of its own.
type delta struct {
	rest   []byte
	left   int // values, with the first one
	value  int64
	first  bool
	minis  int // miniblocks of a block
	ofMini int // values of a miniblock

	least  int64 // difference in the block
	widths []byte
	inMini int // differences that are left
	bits   bitReader
	width  int
}

// newDelta reads the head. There are at most most values.
func newDelta(data []byte, most int) (d delta, err error) {
	c := compact{rest: data}
	block, minis, count := c.uvarint(), c.uvarint(), c.uvarint()
	value := c.integer()
	const largest = 1 << 20
	switch {
	case c.err != nil:
		return d, errEnds
	case count > uint64(most), minis == 0, minis > largest, block > largest, block%minis != 0, block/minis%8 != 0,
		block == 0:
		return d, errPage
	}
	return delta{
		rest: c.rest, left: int(count), value: value, first: true, minis: int(minis), ofMini: int(block / minis),
	}, nil
}

// next returns the next value.
func (d *delta) next() (int64, error) {
	if d.left == 0 {
		return 0, errEnds
	}
	d.left--
	if d.first {
		d.first = false
		return d.value, nil
	}
	if d.inMini == 0 {
		if err := d.begin(); err != nil {
			return 0, err
		}
	}
	d.inMini--
	v, ok := d.bits.long(d.width)
	if !ok {
		return 0, errEnds
	}
	d.value += d.least + int64(v)
	return d.value, nil
}

// begin begins a miniblock.
func (d *delta) begin() error {
	if len(d.widths) == 0 {
		v, n := binary.Uvarint(d.rest)
		if n <= 0 || len(d.rest)-n < d.minis {
			return errEnds
		}
		d.least = int64(v>>1) ^ -int64(v&1)
		d.rest = d.rest[n:]
		d.widths, d.rest = d.rest[:d.minis], d.rest[d.minis:]
	}
	d.width = int(d.widths[0])
	d.widths = d.widths[1:]
	if d.width > 64 {
		return errWidth
	}
	size := min(d.ofMini/8*d.width, len(d.rest))
	d.bits = bitReader{rest: d.rest[:size]}
	d.rest, d.inMini = d.rest[size:], d.ofMini
	return nil
}

// end leaves out all values of which none was read, and returns what follows them. It looks only at the heads of
// miniblocks, since one of a few bytes can stand for millions of values.
func (d *delta) end() ([]byte, error) {
	for left := d.left - 1; left > 0; left -= d.ofMini {
		if err := d.begin(); err != nil {
			return nil, err
		}
	}
	return d.rest, nil
}
