package format

import (
	"bytes"
	"math/bits"
)

// longLine is the size of a line, about, from which on package bytes finds quotes and line feeds faster than cutBlocks.
const longLine = 32

// cutQuoted is Cut of CSV. A line feed ends a row unless the number of quotes before it is odd.
func cutQuoted(text []byte) (n, rows int) {
	if bytes.Count(text, []byte{'\n'}) > len(text)/longLine {
		return cutBlocks(text)
	}
	quoted := false
	for at := 0; ; {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			return n, rows
		}
		if bytes.Count(text[at:at+end], []byte{'"'})%2 != 0 {
			quoted = !quoted
		}
		at += end + 1
		if !quoted {
			n = at
			rows++
		}
	}
}

// cutBlocks is cutQuoted for short lines. The text is taken in blocks of 64 bytes, of which each has a bit in a word.
// This is how simdjson finds strings (Langdale and Lemire, Parsing Gigabytes of JSON per Second, 2019), without its
// instructions.
func cutBlocks(text []byte) (n, rows int) {
	const block = 64
	var inside uint64 // all ones if the block begins within quotes
	var rest [block]byte
	for i := 0; i < len(text); i += block {
		at := text[i:]
		if len(at) < block {
			clear(rest[copy(rest[:], at):])
			at = rest[:]
		}
		quotes, feeds := blockBits(at[:block])
		quoted := fromOdd(quotes) ^ inside
		inside = -(quoted >> 63)
		if ends := feeds &^ quoted; ends != 0 {
			rows += bits.OnesCount64(ends)
			n = i + block - bits.LeadingZeros64(ends)
		}
	}
	return n, rows
}

// blockBits returns a bit for each of 64 bytes that is a quote, and for each that is a line feed.
func blockBits(block []byte) (quotes, feeds uint64) {
	for k := 0; k < len(block); k += 8 {
		w := word(block[k:])
		quotes |= bitOfEach(everyByte(w, '"')) << k
		feeds |= bitOfEach(everyByte(w, '\n')) << k
	}
	return quotes, feeds
}

// bitOfEach gathers the highest bits of eight bytes, of which no other bits are set.
func bitOfEach(w uint64) uint64 { return w >> 7 * 0x0102040810204080 >> 56 }

// fromOdd sets each bit at or above which the number of bits set below or at it is odd.
func fromOdd(w uint64) uint64 {
	for shift := 1; shift < 64; shift *= 2 {
		w ^= w << shift
	}
	return w
}

// cutLines is Cut of formats in which a row is a line.
func cutLines(text []byte) (n, rows int) {
	n = bytes.LastIndexByte(text, '\n') + 1
	return n, bytes.Count(text[:n], []byte{'\n'})
}
