package fileservice

import (
	"encoding/binary"
	"encoding/hex"

	"lukechampine.com/blake3/guts"
)

// BlockSize is the size of a block in bytes. The last block of a file may be shorter, and an empty file has none.
const BlockSize = 1 << 20

// Blocks gives the number of blocks of a file of so many bytes.
func Blocks(size int64) int64 {
	blocks := size / BlockSize
	if size%BlockSize != 0 {
		blocks++
	}
	return blocks
}

// A BlockRange is a number of consecutive blocks.
type BlockRange struct {
	First, Count int64
}

// SumSize is the size of a hash in bytes.
const SumSize = 32

// A Sum is the hash of a block, or of a whole file.
type Sum [SumSize]byte

// String gives the hash in hexadecimal digits.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// SumBlock gives the hash of a block with this number, from 0, of a file of so many bytes, which it must be as long as
// they say. Where the file has no other block, it is the hash of the file.
func SumBlock(block []byte, number, fileSize int64) Sum {
	var hash BlockHash
	hash.Reset(number, fileSize)
	hash.Write(block)
	return hash.Sum()
}

// chainingValue is what BLAKE3 has instead of hashes within its tree.
type chainingValue = [8]uint32

// groupSize is how many bytes are hashed at once: as many chunks as a vector register has lanes.
const groupSize = guts.MaxSIMD * guts.ChunkSize

// BlockHash makes the hash of a block from parts of it. Every part but the last is whole groups.
type BlockHash struct {
	chunk uint64    // number in the file of the next chunk
	left  int       // bytes of the block that are to come
	root  uint32    // the flag of the last node, if the block is the whole file
	node  guts.Node // the last one
	// The first height of whole are the values of full subtrees, the larger ones first, one for each bit of groups.
	groups uint64
	height int
	whole  [7]chainingValue // a block has 1 << 6 groups
}

// Reset begins a block with this number of a file of so many bytes.
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

func (b *BlockHash) Write(p []byte) {
	if len(p) > b.left || len(p) < b.left && len(p)%groupSize != 0 {
		panic("fileservice: a part of a block that cannot be hashed")
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

// push adds the chaining value of a group that another one follows.
func (b *BlockHash) push(value chainingValue) {
	for full := b.groups; full&1 == 1; full >>= 1 {
		b.height--
		value = guts.ChainingValue(guts.ParentNode(b.whole[b.height], value, &guts.IV, 0))
	}
	b.whole[b.height] = value
	b.height++
	b.groups++
}

// last ends the block with a group, or a part of one.
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

// Sum gives the hash when the whole block was written.
func (b *BlockHash) Sum() Sum {
	if b.left != 0 {
		panic("fileservice: the hash of a part of a block")
	}
	b.node.Flags |= b.root
	return sumOf(guts.ChainingValue(b.node))
}

// A Tree makes the BLAKE3 hash of a file of the hashes of its blocks. It holds one for each bit of their number. The
// zero value is the tree of an empty file. It must not be used by two goroutines at once.
type Tree struct {
	blocks uint64
	// whole are the chaining values of full subtrees, the larger ones first. The last block is not joined with what it
	// makes a full one with before another follows, since the last node of a file is hashed in another way.
	whole []chainingValue
}

// Append adds the hash of the next block, as SumBlock gives it.
func (t *Tree) Append(block Sum) {
	for n := t.blocks; n > 0 && n&1 == 0; n >>= 1 {
		last := len(t.whole) - 1
		t.whole[last-1] = guts.ChainingValue(guts.ParentNode(t.whole[last-1], t.whole[last], &guts.IV, 0))
		t.whole = t.whole[:last]
	}
	t.whole = append(t.whole, valueOf(block))
	t.blocks++
}

// Root gives the hash of a file that has the blocks that were appended.
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
