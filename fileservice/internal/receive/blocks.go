package receive

import (
	"maps"
	"slices"

	"culvert/fileservice"
)

// blockState is how far a block has come.
type blockState uint8

const (
	blockMissing   blockState = iota
	blockClaimed              // being written
	blockWritten              // in the file
	blockCommitted            // on the disk, and in the journal
	blockStates
)

type blockEntry struct {
	state blockState
	sum   fileservice.Sum
}

// pageBlocks is how many blocks a page of the table has, of 33 bytes each.
const pageBlocks = 32

// Table holds the state and the hash of each block. It takes memory for what has come, not for the size that
// somebody has claimed.
type Table struct {
	pages  map[int64]*[pageBlocks]blockEntry
	counts [blockStates]int64
}

func (t *Table) get(block int64) blockEntry {
	if page := t.pages[block/pageBlocks]; page != nil && block >= 0 {
		return page[block%pageBlocks]
	}
	return blockEntry{}
}

func (t *Table) set(block int64, entry blockEntry) {
	page := t.pages[block/pageBlocks]
	if page == nil {
		if t.pages == nil {
			t.pages = map[int64]*[pageBlocks]blockEntry{}
		}
		page = new([pageBlocks]blockEntry)
		t.pages[block/pageBlocks] = page
	}
	t.counts[page[block%pageBlocks].state]--
	t.counts[entry.state]++
	page[block%pageBlocks] = entry
}

// count gives the number of blocks in a state, which must not be blockMissing.
func (t *Table) count(state blockState) int64 { return t.counts[state] }

// ranges gives the blocks in a state, in order.
func (t *Table) ranges(state blockState) []fileservice.BlockRange {
	var ranges []fileservice.BlockRange
	for _, number := range slices.Sorted(maps.Keys(t.pages)) {
		for i, entry := range t.pages[number] {
			block := number*pageBlocks + int64(i)
			if entry.state != state {
				continue
			}
			if last := len(ranges) - 1; last >= 0 && ranges[last].First+ranges[last].Count == block {
				ranges[last].Count++
				continue
			}
			ranges = append(ranges, fileservice.BlockRange{First: block, Count: 1})
		}
	}
	return ranges
}

// Root gives the hash of the file, from those of all blocks. No block may be missing.
func (t *Table) Root() fileservice.Sum {
	var tree fileservice.Tree
	for _, number := range slices.Sorted(maps.Keys(t.pages)) {
		for _, entry := range t.pages[number] {
			if entry.state != blockMissing {
				tree.Append(entry.sum)
			}
		}
	}
	return tree.Root()
}

// SetWritten notes the hash of a block that is in the file.
func (t *Table) SetWritten(block int64, sum fileservice.Sum) {
	t.set(block, blockEntry{blockWritten, sum})
}

// Written gives the blocks that setWritten has noted, in order.
func (t *Table) Written() []fileservice.BlockRange { return t.ranges(blockWritten) }

// MissingRanges gives what is not in ranges, of so many blocks.
func MissingRanges(there []fileservice.BlockRange, blocks int64) []fileservice.BlockRange {
	var missing []fileservice.BlockRange
	next := int64(0)
	for _, r := range append(there, fileservice.BlockRange{First: blocks}) {
		if r.First > next {
			missing = append(missing, fileservice.BlockRange{First: next, Count: r.First - next})
		}
		next = r.First + r.Count
	}
	return missing
}
