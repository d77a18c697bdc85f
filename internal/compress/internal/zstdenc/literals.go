package zstdenc

import "github.com/klauspost/compress/huff0"

// The kinds of literals.
const (
	storedLiterals   = 0
	repeatedLiterals = 1 // one byte
	tableLiterals    = 2
	treelessLiterals = 3 // with the table of an earlier block
)

const (
	fewLiterals  = 32   // up to which a table does not pay off
	fourLiterals = 1024 // from which on there are four streams, which are decoded at once
)

// appendLiterals appends the literals of a block.
func (e *Encoder) appendLiterals(dst []byte) []byte {
	literals := e.matcher.literals
	if len(literals) <= fewLiterals {
		return append(appendPlainHeader(dst, storedLiterals, len(literals)), literals...)
	}
	e.huffman.Reuse = huff0.ReusePolicyNone
	if e.reuse {
		e.huffman.Reuse = huff0.ReusePolicyAllow
	}
	compress := huff0.Compress1X
	if len(literals) >= fourLiterals {
		compress = huff0.Compress4X
	}
	out, reused, err := compress(literals, &e.huffman)
	e.reuse = err == nil
	switch {
	case err == huff0.ErrUseRLE:
		return append(appendPlainHeader(dst, repeatedLiterals, len(literals)), literals[0])
	case err != nil: // they do not become smaller
		return append(appendPlainHeader(dst, storedLiterals, len(literals)), literals...)
	case reused:
		return append(appendHuffmanHeader(dst, treelessLiterals, len(literals), len(out)), out...)
	default:
		return append(appendHuffmanHeader(dst, tableLiterals, len(literals), len(out)), out...)
	}
}

// appendPlainHeader appends the header of literals that are not compressed (RFC 8878, section 3.1.1.3.1.1).
func appendPlainHeader(dst []byte, kind, size int) []byte {
	switch {
	case size < 1<<5:
		return append(dst, byte(kind|size<<3))
	case size < 1<<12:
		header := kind | 1<<2 | size<<4
		return append(dst, byte(header), byte(header>>8))
	default:
		header := kind | 3<<2 | size<<4
		return append(dst, byte(header), byte(header>>8), byte(header>>16))
	}
}

// appendHuffmanHeader appends the header of compressed literals.
func appendHuffmanHeader(dst []byte, kind, size, compressed int) []byte {
	// The format of the sizes, the bits of each, and the bytes of the header.
	format, width, n := 3, 18, 5
	switch {
	case size < fourLiterals:
		format, width, n = 0, 10, 3
	case size < 1<<14:
		format, width, n = 2, 14, 4
	}
	header := uint64(kind|format<<2) | uint64(size)<<4 | uint64(compressed)<<(4+width)
	for ; n > 0; n-- {
		dst = append(dst, byte(header))
		header >>= 8
	}
	return dst
}
