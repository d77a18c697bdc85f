package fileservice

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"math/bits"
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

// A Sum is the hash of a block, or the root of a tree of them.
type Sum [sha256.Size]byte

// String gives the hash in hexadecimal digits.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// SumBlock gives the hash of a block: SHA-256 of a zero byte and the block.
func SumBlock(block []byte) Sum {
	hash := newBlockHash()
	hash.write(block)
	return hash.sum()
}

// blockHash makes the hash of a block from parts of it.
type blockHash struct{ hash hash.Hash }

func newBlockHash() blockHash {
	b := blockHash{sha256.New()}
	b.reset()
	return b
}

func (b blockHash) reset() {
	b.hash.Reset()
	b.hash.Write([]byte{leafPrefix})
}

func (b blockHash) write(p []byte) { b.hash.Write(p) }

func (b blockHash) sum() (sum Sum) {
	b.hash.Sum(sum[:0])
	return sum
}

// The first byte of what is hashed keeps a block from being taken for a node (RFC 9162, section 2.1.1).
const (
	leafPrefix = 0
	nodePrefix = 1
)

// A Tree makes one hash of the hashes of all blocks of a file. It is the Merkle tree of RFC 9162, section 2.1.1, with
// SHA-256, whose leaves are the blocks. It holds one hash for each bit of the number of blocks. The zero value is the
// tree of an empty file. It must not be used by two goroutines at once.
type Tree struct {
	blocks uint64
	whole  []Sum // the roots of full subtrees, the larger ones first, one for each bit that is set in blocks
}

// Append adds the hash of the next block.
func (t *Tree) Append(block Sum) {
	for full := t.blocks; full&1 == 1; full >>= 1 {
		block = sumNode(t.whole[len(t.whole)-1], block)
		t.whole = t.whole[:len(t.whole)-1]
	}
	t.whole = append(t.whole, block)
	t.blocks++
}

// Root gives the hash of what was appended so far.
func (t *Tree) Root() Sum {
	if t.blocks == 0 {
		return sha256.Sum256(nil)
	}
	if bits.OnesCount64(t.blocks) != len(t.whole) {
		panic("fileservice: a tree has lost its shape")
	}
	root := t.whole[len(t.whole)-1]
	for i := len(t.whole) - 2; i >= 0; i-- {
		root = sumNode(t.whole[i], root)
	}
	return root
}

// sumNode gives the hash of two subtrees, the left of which is full.
func sumNode(left, right Sum) Sum {
	var node [1 + 2*sha256.Size]byte
	node[0] = nodePrefix
	copy(node[1:], left[:])
	copy(node[1+sha256.Size:], right[:])
	return sha256.Sum256(node[:])
}
