package parquetread

import (
	"encoding/binary"
	"errors"
)

var (
	errPage   = errors.New("a page is damaged")
	errEnds   = errors.New("a page ends early")
	errWidth  = errors.New("a page has values of too many bits")
	errNoDict = errors.New("a page refers to a dictionary that is not there")
)

// hybrid reads numbers in runs: one value that repeats, or groups of eight values of so many bits each. It is the
// encoding RLE of the specification, for levels and for ids of dictionaries.
type hybrid struct {
	rest   []byte
	width  int
	repeat int    // values that are left of a run of one value
	value  uint32 // the value
	packed int    // values that are left of groups
	bits   bitReader
}

func newHybrid(data []byte, width int) (hybrid, error) {
	if width < 0 || width > 32 {
		return hybrid{}, errWidth
	}
	return hybrid{rest: data, width: width}, nil
}

// begin reads the head of a run.
func (h *hybrid) begin() error {
	head, n := binary.Uvarint(h.rest)
	if n <= 0 || head>>1 == 0 || head>>1 > 1<<31 {
		return errEnds
	}
	h.rest = h.rest[n:]
	count := int(head >> 1)
	if head&1 == 0 {
		size := (h.width + 7) / 8
		if len(h.rest) < size {
			return errEnds
		}
		h.repeat, h.value = count, 0
		for i := range size {
			h.value |= uint32(h.rest[i]) << (8 * i)
		}
		h.rest = h.rest[size:]
		return nil
	}
	// Some writers leave out the end of the last group.
	size := min(count*h.width, len(h.rest))
	h.packed = 8 * count
	h.bits = bitReader{rest: h.rest[:size]}
	h.rest = h.rest[size:]
	return nil
}

// read fills dst.
func (h *hybrid) read(dst []uint32) error {
	for len(dst) > 0 {
		switch {
		case h.repeat > 0:
			n := min(h.repeat, len(dst))
			for i := range dst[:n] {
				dst[i] = h.value
			}
			h.repeat -= n
			dst = dst[n:]
		case h.packed > 0:
			n := min(h.packed, len(dst))
			if !h.bits.read(dst[:n], h.width) {
				return errEnds
			}
			h.packed -= n
			dst = dst[n:]
		default:
			if err := h.begin(); err != nil {
				return err
			}
		}
	}
	return nil
}

// bitReader reads numbers of so many bits one after the other, the lowest bit first.
type bitReader struct {
	rest  []byte
	word  uint64
	count int // bits of word
}

// read fills dst with numbers of up to 32 bits. It fails if there are not as many.
func (b *bitReader) read(dst []uint32, width int) bool {
	mask := uint64(1)<<width - 1
	for i := range dst {
		for b.count < width {
			if len(b.rest) >= 4 && b.count <= 32 {
				b.word |= uint64(binary.LittleEndian.Uint32(b.rest)) << b.count
				b.rest = b.rest[4:]
				b.count += 32
				continue
			}
			if len(b.rest) == 0 {
				return false
			}
			b.word |= uint64(b.rest[0]) << b.count
			b.rest = b.rest[1:]
			b.count += 8
		}
		dst[i] = uint32(b.word & mask)
		b.word >>= width
		b.count -= width
	}
	return true
}

// long reads a number of up to 64 bits.
func (b *bitReader) long(width int) (uint64, bool) {
	var parts [2]uint32
	low := min(width, 32)
	if !b.read(parts[:1], low) || !b.read(parts[1:], width-low) {
		return 0, false
	}
	return uint64(parts[0]) | uint64(parts[1])<<32, true
}
