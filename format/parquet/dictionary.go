package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// dictionary has the values of a column in a row group that repeat.
type dictionary struct {
	table []uint32 // entries, counted from 1, by hash
	ends  []uint32 // of entries in values
	hash  []uint32
	page  []byte // the values as PLAIN stores them
	full  bool   // in this row group, the column is written without it from now on
}

// cost is what an entry takes besides its value.
const cost = 16

func (d *dictionary) reset() {
	clear(d.table)
	d.ends, d.hash, d.page, d.full = d.ends[:0], d.hash[:0], d.page[:0], false
}

// memory is about what it takes.
func (d *dictionary) memory() int { return len(d.page) + cost*len(d.ends) }

// id returns the id of a value, which is added if it is new.
func (d *dictionary) id(value []byte) uint32 {
	if 2*len(d.ends) >= len(d.table) {
		d.grow()
	}
	hash := uint32(maphash.Bytes(seed, value))
	at := int(hash) & (len(d.table) - 1)
	for ; d.table[at] != 0; at = (at + 1) & (len(d.table) - 1) {
		id := d.table[at] - 1
		if d.hash[id] == hash && bytes.Equal(d.value(id), value) {
			return id
		}
	}
	d.page = append(d.page, value...)
	d.ends = append(d.ends, uint32(len(d.page)))
	d.hash = append(d.hash, hash)
	d.table[at] = uint32(len(d.ends))
	return uint32(len(d.ends) - 1)
}

func (d *dictionary) value(id uint32) []byte {
	begin := uint32(0)
	if id > 0 {
		begin = d.ends[id-1]
	}
	return d.page[begin:d.ends[id]]
}

// grow doubles the table, whose size is a power of two.
func (d *dictionary) grow() {
	const least = 64
	d.table = make([]uint32, max(least, 2*len(d.table)))
	for id, hash := range d.hash {
		at := int(hash) & (len(d.table) - 1)
		for d.table[at] != 0 {
			at = (at + 1) & (len(d.table) - 1)
		}
		d.table[at] = uint32(id) + 1
	}
}

// nextValue returns the value at the beginning of some that PLAIN stores, with its length.
func (c *column) nextValue(values []byte) []byte {
	if c.physical == byteArray {
		return values[:4+binary.LittleEndian.Uint32(values)]
	}
	return values[:c.Size]
}
