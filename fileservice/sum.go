package fileservice

import (
	"encoding/binary"
	"encoding/hex"

	"lukechampine.com/blake3/guts"
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

// SumSize is the size of a hash in bytes.
const SumSize = 32

// A Sum is the hash of a block or of a file.
type Sum [SumSize]byte

// String returns the hash in hexadecimal digits.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// SumBlock returns the hash of block number, counted from 0, of a file of fileSize bytes. It panics if block does not
// have the length of that block. If the file has no other block, the result is the hash of the file.
func SumBlock(block []byte, number, fileSize int64) Sum {
	var hash BlockHash
	hash.Reset(number, fileSize)
	hash.Write(block)
	return hash.Sum()
}

// chainingValue is the value of an inner node of BLAKE3's tree.
type chainingValue = [8]uint32

// groupSize is the number of bytes hashed at once: one chunk per lane of a vector register.
const groupSize = guts.MaxSIMD * guts.ChunkSize

// A BlockHash hashes a block in parts. Every part except the last consists of whole groups.
type BlockHash struct {
	chunk uint64    // number of the next chunk in the file
	left  int       // bytes of the block not yet written
	root  uint32    // flag of the last node if the block is the whole file
	node  guts.Node // the last node
	// The first height values of whole are full subtrees, largest first, one for each bit of groups.
	groups uint64
	height int
	whole  [7]chainingValue // a block has 1 << 6 groups
}

// Reset starts block number of a file of fileSize bytes.
func (b *BlockHash) Reset(number, fileSize int64) {
	*b = BlockHash{
		chunk: uint64(number) * (BlockSize / guts.ChunkSize),
		left:  int(min(BlockSize, fileSize-number*BlockSize)),
	}
	if fileSize <= BlockSize {
		b.root = guts.FlagRoot
	}
	b.node = guts.CompressChunk(nil, &guts.IV, b.chunk, 0)
}

// Write adds p to the hash. It panics if p exceeds the block or is not a valid part.
func (b *BlockHash) Write(p []byte) {
	if len(p) > b.left || len(p) < b.left && len(p)%groupSize != 0 {
		panic("fileservice: BlockHash.Write: invalid part of a block")
	}
	for ; len(p) > groupSize || len(p) == groupSize && b.left > groupSize; p = p[groupSize:] {
		node := guts.CompressBuffer((*[groupSize]byte)(p), groupSize, &guts.IV, b.chunk, 0)
		b.chunk += guts.MaxSIMD
		b.left -= groupSize
		b.push(guts.ChainingValue(node))
	}
	if len(p) > 0 {
		b.left -= len(p)
		b.last(p)
	}
}

// push adds the chaining value of a group that is not the last.
func (b *BlockHash) push(value chainingValue) {
	for full := b.groups; full&1 == 1; full >>= 1 {
		b.height--
		value = guts.ChainingValue(guts.ParentNode(b.whole[b.height], value, &guts.IV, 0))
	}
	b.whole[b.height] = value
	b.height++
	b.groups++
}

// last ends the block with a whole or partial group.
func (b *BlockHash) last(p []byte) {
	if len(p) == groupSize {
		b.node = guts.CompressBuffer((*[groupSize]byte)(p), groupSize, &guts.IV, b.chunk, 0)
	} else {
		var group [groupSize]byte
		b.node = guts.CompressBuffer(&group, copy(group[:], p), &guts.IV, b.chunk, 0)
	}
	for b.height > 0 {
		b.height--
		b.node = guts.ParentNode(b.whole[b.height], guts.ChainingValue(b.node), &guts.IV, 0)
	}
}

// Sum returns the hash. It panics if the block was not written completely.
func (b *BlockHash) Sum() Sum {
	if b.left != 0 {
		panic("fileservice: BlockHash.Sum: incomplete block")
	}
	b.node.Flags |= b.root
	return sumOf(guts.ChainingValue(b.node))
}

// A Tree computes the BLAKE3 hash of a file from the hashes of its blocks. It holds one hash for each bit of their
// number. The zero value is the tree of an empty file. It is not safe for concurrent use.
type Tree struct {
	blocks uint64
	// whole has the chaining values of full subtrees, largest first. The last block is joined only when another
	// follows, because the last node of a file is hashed differently.
	whole []chainingValue
}

// Append adds the hash of the next block, as SumBlock returns it.
func (t *Tree) Append(block Sum) {
	for n := t.blocks; n > 0 && n&1 == 0; n >>= 1 {
		last := len(t.whole) - 1
		t.whole[last-1] = guts.ChainingValue(guts.ParentNode(t.whole[last-1], t.whole[last], &guts.IV, 0))
		t.whole = t.whole[:last]
	}
	t.whole = append(t.whole, valueOf(block))
	t.blocks++
}

// Root returns the hash of the file that consists of the appended blocks.
func (t *Tree) Root() Sum {
	switch t.blocks {
	case 0:
		return SumBlock(nil, 0, 0)
	case 1:
		return sumOf(t.whole[0])
	}
	value := t.whole[len(t.whole)-1]
	for i := len(t.whole) - 2; i > 0; i-- {
		value = guts.ChainingValue(guts.ParentNode(t.whole[i], value, &guts.IV, 0))
	}
	return sumOf(guts.ChainingValue(guts.ParentNode(t.whole[0], value, &guts.IV, guts.FlagRoot)))
}

func sumOf(value chainingValue) (sum Sum) {
	for i, word := range value {
		binary.LittleEndian.PutUint32(sum[4*i:], word)
	}
	return sum
}

func valueOf(sum Sum) (value chainingValue) {
	for i := range value {
		value[i] = binary.LittleEndian.Uint32(sum[4*i:])
	}
	return value
}
