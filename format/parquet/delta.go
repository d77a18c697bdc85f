package parquet

import (
	"encoding/binary"
	"math/bits"
)

// Whole numbers, and what is stored as such, are written as the differences between neighbours if these take fewer
// bits: numbers of rows, times in order, and numbers that are small for their type. It is the encoding
// DELTA_BINARY_PACKED of the specification: blocks of miniblocks, each with the bits of its largest difference from the
// least of the block. Spark reads it since version 3.3.
const (
	deltaBlock = 128
	deltaMinis = 4
	deltaMini  = deltaBlock / deltaMinis

	// leastDeltas is the number of values below which the heads of blocks take more than the bits save.
	leastDeltas = 64
)

// appendDelta appends values of PLAIN as differences. It reports whether they take at most seven eighths of the
// bytes: otherwise, zstd makes as much of PLAIN. It makes less of numbers of 48 bits, such as times in no order.
func (c *column) appendDelta(dst, values []byte) ([]byte, bool) {
	n := len(values) / max(c.Size, 1)
	if c.physical != int32s && c.physical != int64s || n < leastDeltas {
		return dst, false
	}
	most := len(dst) + len(values)/8*7
	last := c.intOf(values)
	dst = append(binary.AppendUvarint(dst, deltaBlock), deltaMinis)
	dst = binary.AppendVarint(binary.AppendUvarint(dst, uint64(n)), last)
	var deltas [deltaBlock]int64
	for values = values[c.Size:]; len(values) > 0; {
		block := deltas[:min(deltaBlock, len(values)/c.Size)]
		for i := range block {
			v := c.intOf(values)
			if block[i] = v - last; c.Size == 4 {
				block[i] = int64(int32(block[i])) // readers add up 32 bits
			}
			last, values = v, values[c.Size:]
		}
		if dst = appendDeltas(dst, &deltas, len(block)); len(dst) > most {
			return dst, false
		}
	}
	return dst, true
}

// appendDeltas appends a block of n differences, and changes them.
func appendDeltas(dst []byte, deltas *[deltaBlock]int64, n int) []byte {
	least := deltas[0]
	for _, d := range deltas[1:n] {
		least = min(least, d)
	}
	dst = binary.AppendVarint(dst, least)
	widths := len(dst)
	dst = append(dst, make([]byte, deltaMinis)...)
	for i := n; i < deltaBlock; i++ {
		deltas[i] = least
	}
	for mini := 0; mini*deltaMini < n; mini++ {
		all, part := uint64(0), deltas[mini*deltaMini:][:deltaMini]
		for i := range part {
			part[i] -= least
			all |= uint64(part[i])
		}
		width := bits.Len64(all)
		dst[widths+mini] = byte(width)
		dst = appendMini(dst, part, width)
	}
	return dst
}

// appendMini appends the lowest bits of the numbers of a miniblock, one after the other.
func appendMini(dst []byte, part []int64, width int) []byte {
	word, filled := uint64(0), 0
	for _, d := range part {
		word |= uint64(d) << filled
		if filled += width; filled >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			filled -= 64
			word = uint64(d) >> (width - filled)
		}
	}
	if filled > 0 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(word)) // half of a word, since there are 32 numbers
	}
	return dst
}
