package parquet

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// A bloom filter says of a value that a row group does not have it, or may have it. It is split into blocks of 32
// bytes: a hash chooses a block by its upper half, and a bit in each of the eight words of it by its lower half
// (apache/parquet-format, BloomFilter.md).
//
// How many different values a row group has is known when it ends, and a filter needs its size before. So it begins
// with the largest size, which is a power of two, and is folded in halves when the row group ends: a block of the
// smaller filter has the bits of two neighbours of the larger one, since it is chosen by one bit less of the hash.
type filter struct {
	blocks   []filterBlock
	distinct int // values that have set a bit: all different ones but those which the filter takes for another
}

type filterBlock [8]uint32

const (
	filterBlockSize = 32

	// bitsPerValue is the number of bits for each different value with which a filter is wrong about less than 1 % of
	// the values that it does not have: (1-exp(-8/10))^8 is 0.8 %.
	bitsPerValue = 10
)

// salts are the odd constants of the specification, of which each chooses the bit in one word.
var salts = filterBlock{
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
}

// setFilters sets which columns have filters, and how large one is at first.
func (e *encoder) setFilters(f *Format) error {
	e.filtered = make([]bool, len(e.columns))
	for _, name := range f.Bloom {
		i := slices.IndexFunc(e.columns, func(c column) bool { return c.Name == name })
		switch {
		case i < 0 && f.BloomOptional:
			continue
		case i < 0:
			return fmt.Errorf("parquet: there is no column %q, which is to have a bloom filter", name)
		case !e.columns[i].canFilter():
			return fmt.Errorf("parquet: column %q cannot have a bloom filter: it is for columns of whole numbers, "+
				"decimals, text, binary data, dates, times and UUIDs", name)
		case !e.filtered[i]:
			e.filters++
		}
		e.filtered[i] = true
	}
	most := min(e.limits.filter, e.limits.filters/max(1, e.filters))
	e.filterBlocks = 1 << (bits.Len(uint(max(1, most/filterBlockSize))) - 1)
	return nil
}

// canFilter reports whether programs can look values of a column up: equal ones must have equal bytes, which the
// numbers 0 and -0 do not have.
func (c *column) canFilter() bool {
	switch c.physical {
	case boolean, floats, doubles:
		return false
	default:
		return c.list == nil
	}
}

// appendHashes appends the hashes of values of a column, as PLAIN stores them, if it has a filter.
func (e *encoder) appendHashes(dst []byte, i int, values []byte) []byte {
	if !e.filtered[i] {
		return dst
	}
	for c := &e.columns[i]; len(values) > 0; {
		value := c.nextValue(values)
		values = values[len(value):]
		if c.physical == byteArray {
			value = value[4:] // behind its length
		}
		dst = appendHash(dst, value)
	}
	return dst
}

func appendHash(dst, value []byte) []byte {
	return binary.LittleEndian.AppendUint64(dst, xxhash.Sum64(value))
}

// appendSums appends the hashes of a page, with their number before them; nothing if the column has no filter.
func (e *encoder) appendSums(dst []byte, i int, hashes []byte) []byte {
	if !e.filtered[i] {
		return dst
	}
	return append(binary.AppendUvarint(dst, uint64(len(hashes)/8)), hashes...)
}

// addHashes adds the values of a page to the filter of a column, if it has one.
func (a *assembler) addHashes(i int, fields *reader) {
	if !a.e.filtered[i] {
		return
	}
	if a.filters == nil {
		a.filters = make([]filter, len(a.e.columns))
	}
	f := &a.filters[i]
	if f.blocks == nil {
		f.blocks = make([]filterBlock, a.e.filterBlocks)
	}
	for hashes := fields.bytes(8 * fields.uvarint()); len(hashes) > 0; hashes = hashes[8:] {
		f.add(binary.LittleEndian.Uint64(hashes))
	}
	a.full = a.full || f.distinct >= capacity(len(f.blocks))
}

// capacity is the number of different values that a filter is made for.
func capacity(blocks int) int { return blocks * 8 * filterBlockSize / bitsPerValue }

func (f *filter) add(hash uint64) {
	block := &f.blocks[(hash>>32)*uint64(len(f.blocks))>>32]
	isNew := uint32(0)
	for i, salt := range salts {
		bit := uint32(1) << (uint32(hash) * salt >> 27)
		isNew |= bit &^ block[i]
		block[i] |= bit
	}
	if isNew != 0 {
		f.distinct++
	}
}

// fold returns the blocks of the smallest filter for its values. The others are not valid any more.
func (f *filter) fold() []filterBlock {
	blocks := f.blocks
	for len(blocks) > 1 && capacity(len(blocks)/2) >= f.distinct {
		for i := range len(blocks) / 2 {
			for w := range blocks[i] {
				blocks[i][w] = blocks[2*i][w] | blocks[2*i+1][w]
			}
		}
		blocks = blocks[:len(blocks)/2]
	}
	return blocks
}

// writeFilters writes the filters of the row group that ends, behind its pages. A column without values has none: the
// number of its NULLs says as much.
func (a *assembler) writeFilters(chunks []chunk) error {
	for i := range a.filters {
		f := &a.filters[i]
		if f.distinct == 0 {
			continue
		}
		blocks := f.fold()
		a.packed = a.packed[:0]
		for i := range blocks {
			for _, word := range blocks[i] {
				a.packed = binary.LittleEndian.AppendUint32(a.packed, word)
			}
		}
		header := a.meta.filterHeader(len(a.packed))
		chunks[i].filter, chunks[i].filterSize = a.offset, len(header)+len(a.packed)
		if err := a.write(header); err != nil {
			return err
		}
		if err := a.write(a.packed); err != nil {
			return err
		}
		clear(f.blocks)
		f.distinct = 0
	}
	a.full = false
	return nil
}

// filterHeader returns the header of a filter: its size, and the only algorithm, hash and compression of the
// specification. It is valid until the next call.
func (c *compact) filterHeader(size int) []byte {
	c.reset()
	c.i32(1, size)
	for field := 2; field <= 4; field++ {
		c.begin(field)
		c.empty(1)
		c.end()
	}
	c.end()
	return c.buf
}
