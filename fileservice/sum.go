package fileservice

import (
	"encoding/hex"

	"github.com/zeebo/xxh3"
)

// BlockSize is the size of a block in bytes. The last block of a file may be shorter, and an empty file has none.
const BlockSize = 1 << 20

// Blocks returns the number of blocks of a file of size bytes.
func Blocks(size int64) int64 {
	blocks := size / BlockSize
	if size%BlockSize != 0 {
		blocks++
	}
	return blocks
}

// A BlockRange is Count consecutive blocks.
type BlockRange struct {
	First, Count int64
}

// SumSize is the size of a sum in bytes.
const SumSize = 16

// A Sum is the checksum of a block or of a file: XXH3-128 in its canonical form, the most significant byte first. It
// detects accidental damage. It has no key, and anyone can make other data with the same sum.
type Sum [SumSize]byte

// String returns the sum in hexadecimal digits.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// SumBlock returns the sum of block number of a file, counted from 0: XXH3-128 with the number as the seed. If the file
// has no other block, the result is the sum of the file.
func SumBlock(block []byte, number int64) Sum { return xxh3.Hash128Seed(block, uint64(number)).Bytes() }

// SumFile returns the sum of a file of at most one block.
func SumFile(content []byte) Sum { return SumBlock(content, 0) }

// A BlockSum computes the sum of a block in parts.
type BlockSum struct{ hasher xxh3.Hasher }

// Reset starts block number.
func (b *BlockSum) Reset(number int64) { b.hasher.ResetSeed(uint64(number)) }

// Write adds the next part of the block.
func (b *BlockSum) Write(p []byte) {
	_, _ = b.hasher.Write(p) // returns no error
}

// Sum returns the sum of the parts, as SumBlock does.
func (b *BlockSum) Sum() Sum { return b.hasher.Sum128().Bytes() }

// A FileSum computes the sum of a file from the sums of its blocks: XXH3-128 of these sums, in order, or the only one.
// The zero value is the sum of an empty file. It is not safe for concurrent use.
type FileSum struct {
	blocks int64
	first  Sum
	hasher xxh3.Hasher
}

// Append adds the sum of the next block.
func (f *FileSum) Append(block Sum) {
	if f.blocks == 0 {
		f.first = block
	}
	f.blocks++
	_, _ = f.hasher.Write(block[:]) // returns no error
}

// Sum returns the sum of the file that consists of the appended blocks.
func (f *FileSum) Sum() Sum {
	if f.blocks == 1 {
		return f.first
	}
	return f.hasher.Sum128().Bytes()
}
