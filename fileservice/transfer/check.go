package transfer

import (
	"bytes"
	"context"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"sync"

	"culvert/fileservice"
	"culvert/place"
)

// check computes the checksum of a file while its blocks arrive, in any order. The pieces of the file have hashes of
// their own, which the goroutines that receive them compute. What does not arrive in the order of its piece, or arrived
// in an earlier run, is read from the disk at the end.
//
//	sum of a place       pieces                joined by
//	a CRC                blocks                arithmetic
//	of sums of parts     the parts             the hash of their hashes
//	any other            one: the whole file
//
// If the whole file is one piece, the goroutines that receive it take turns. It is one, too, for a CRC of more blocks
// than mostBlocks.
type check struct {
	want place.Sum
	size int64
	ends []int64 // of the pieces; nil if they are blocks

	mu     sync.Mutex
	turn   *sync.Cond     // begun or broken has changed
	coming int64          // up to where the file is being read without a gap, if it is one piece
	broken bool           // not all of that has arrived
	begun  map[int]*piece // begun, and not complete
	sums   []byte         // of all pieces, one after the other
	have   []bool         // the sum of a piece
	unused []hash.Hash
}

// piece is the state of the hash of a piece.
type piece struct {
	hash hash.Hash
	next int64 // the offset of what is to be hashed next; -1 while a goroutine does it
}

// mostBlocks are those of 8 TiB, whose sums take 72 MiB. What a place says of the size of a file may be wrong.
const mostBlocks = 8 << 20

// newCheck returns nil if there is no sum of a known algorithm and of this size.
func newCheck(want place.Sum, size int64) *check {
	hasher := newSum(want.Algorithm)
	if hasher == nil || size == 0 {
		return nil
	}
	c := &check{want: want, size: size, begun: map[int]*piece{}, unused: []hash.Hash{hasher}}
	c.turn = sync.NewCond(&c.mu)
	count := fileservice.Blocks(size)
	if _, is := polynomialOf(want.Algorithm); !is || want.Parts != nil || count > mostBlocks {
		end := int64(0)
		for _, part := range want.Parts {
			if part <= 0 || part > size-end {
				return nil
			}
			end += part
			c.ends = append(c.ends, end)
		}
		if want.Parts == nil {
			c.ends, end = []int64{size}, size
		}
		if end != size {
			return nil
		}
		count = int64(len(c.ends))
	}
	c.sums, c.have = make([]byte, count*int64(hasher.Size())), make([]bool, count)
	return c
}

// isWhole reports whether the whole file is one piece.
func (c *check) isWhole() bool { return c != nil && len(c.ends) == 1 }

// bounds returns the offsets of the beginning and the end of a piece.
func (c *check) bounds(i int) (begin, end int64) {
	if c.ends == nil {
		begin = int64(i) * fileservice.BlockSize
		return begin, min(begin+fileservice.BlockSize, c.size)
	}
	if i > 0 {
		begin = c.ends[i-1]
	}
	return begin, c.ends[i]
}

// find returns the piece that holds the byte at an offset.
func (c *check) find(offset int64) int {
	if c.ends == nil {
		return int(offset / fileservice.BlockSize)
	}
	i, _ := slices.BinarySearch(c.ends, offset+1)
	return i
}

// align returns up to which block a worker should go that wants to go up to end, so that it has whole pieces.
func (c *check) align(end int64) int64 {
	if c == nil || c.ends == nil {
		return end
	}
	_, pieceEnd := c.bounds(c.find(min(end*fileservice.BlockSize, c.size) - 1))
	return fileservice.Blocks(pieceEnd)
}

// announce says that a range of a file of one piece is about to be read. If it continues what was announced before, it
// has a turn.
func (c *check) announce(begin, end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if begin == c.coming {
		c.coming = end
	}
}

// addInTurn is add for a range of a file of one piece. If what comes before it is still on its way, it waits for that.
func (c *check) addInTurn(data []byte, offset int64) {
	c.mu.Lock()
	for offset < c.coming && !c.broken && c.next() != offset {
		c.turn.Wait()
	}
	c.mu.Unlock()
	c.add(data, offset)
}

// next returns where the hash of a file of one piece goes on. mu is held.
func (c *check) next() int64 {
	if p := c.begun[0]; p != nil {
		return p.next
	}
	return 0
}

// giveUp ends all waiting, because a range has not arrived. What follows it is read from the disk at the end.
func (c *check) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = true
	c.turn.Broadcast()
}

// add hashes what has arrived, as far as it comes next in its pieces.
func (c *check) add(data []byte, offset int64) {
	for c != nil && len(data) > 0 {
		i := c.find(offset)
		_, end := c.bounds(i)
		n := min(int64(len(data)), end-offset)
		if hasher := c.take(i, offset); hasher != nil {
			_, _ = hasher.Write(data[:n]) // never fails
			c.put(i, offset+n)
		}
		data, offset = data[n:], offset+n
	}
}

// take returns the hash of a piece if what is at the offset comes next. The caller returns it with put.
func (c *check) take(i int, offset int64) hash.Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.begun[i]
	if begin, _ := c.bounds(i); p == nil && offset == begin && !c.have[i] {
		p = &piece{next: begin}
		if last := len(c.unused) - 1; last >= 0 {
			p.hash, c.unused = c.unused[last], c.unused[:last]
			p.hash.Reset()
		} else {
			p.hash = newSum(c.want.Algorithm)
		}
		c.begun[i] = p
	}
	if p == nil || p.next != offset {
		return nil
	}
	p.next = -1
	return p.hash
}

func (c *check) put(i int, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.begun[i]
	p.next = next
	if _, end := c.bounds(i); next == end {
		size := p.hash.Size()
		p.hash.Sum(c.sums[: i*size : len(c.sums)])
		c.have[i] = true
		c.unused = append(c.unused, p.hash)
		delete(c.begun, i)
	}
	c.turn.Broadcast()
}

// rest returns the pieces that are not complete.
func (c *check) rest() (pieces []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, have := range c.have {
		if !have {
			pieces = append(pieces, i)
		}
	}
	return pieces
}

// nextOf returns where the hash of an incomplete piece goes on. No add is under way.
func (c *check) nextOf(i int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.begun[i]; p != nil {
		return p.next
	}
	begin, _ := c.bounds(i)
	return begin
}

// sum returns the checksum of the file. All pieces are complete.
func (c *check) sum() []byte {
	if c.ends == nil {
		polynomial, _ := polynomialOf(c.want.Algorithm)
		return joinBlocks(polynomial, c.sums, c.size)
	}
	if c.want.Parts == nil {
		return c.sums
	}
	hasher := newSum(c.want.Algorithm)
	_, _ = hasher.Write(c.sums) // never fails
	return hasher.Sum(nil)
}

// compareFile reads what has not been hashed yet, and compares the checksum. The name is for messages.
func (t *transfer) compareFile(ctx context.Context, c *check, file io.ReaderAt, name string) error {
	for _, i := range c.rest() {
		_, end := c.bounds(i)
		err := t.readAgain(ctx, file, name, c.nextOf(i), end, func(data []byte, offset int64) error {
			c.add(data, offset)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return compareSums(c.want, c.sum(), name)
}

// errOtherSum is of one file: others may be sound.
var errOtherSum = fmt.Errorf("%w: the checksum of what has arrived is not the one that the place keeps",
	place.ErrIntegrity)

func compareSums(want place.Sum, got []byte, name string) error {
	if !bytes.Equal(want.Value, got) {
		return reading(&fs.PathError{Op: "read", Path: name, Err: errOtherSum})
	}
	return nil
}

// compareContent compares a small file with the checksum of its place. It reports whether there is one.
func compareContent(want place.Sum, content []byte, name string) (verified bool, err error) {
	if c := newCheck(want, int64(len(content))); c != nil {
		c.add(content, 0)
		return true, compareSums(want, c.sum(), name)
	}
	empty := newSum(want.Algorithm)
	if len(content) > 0 || empty == nil {
		return false, nil
	}
	return true, compareSums(want, empty.Sum(nil), name)
}

// serverSum is the algorithm of a server's sums.
const serverSum place.Algorithm = "XXH3-128 of blocks"

// newSum returns a hash that computes a checksum, or nil if its algorithm is unknown.
func newSum(a place.Algorithm) hash.Hash {
	if a == serverSum {
		return &serverHash{}
	}
	return a.New()
}

// serverHash computes the sum of a file of a server. Each Write is of a block.
type serverHash struct {
	sum    fileservice.FileSum
	blocks int64
}

func (h *serverHash) Write(block []byte) (int, error) {
	h.sum.Append(fileservice.SumBlock(block, h.blocks))
	h.blocks++
	return len(block), nil
}

func (h *serverHash) Sum(b []byte) []byte {
	sum := h.sum.Sum()
	return append(b, sum[:]...)
}

func (h *serverHash) Reset()         { *h = serverHash{} }
func (h *serverHash) Size() int      { return fileservice.SumSize }
func (h *serverHash) BlockSize() int { return fileservice.BlockSize }
