package fileservice

import (
	"maps"
	"slices"
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
	sum   Sum
}

// pageBlocks is how many blocks a page of the table has, of 33 bytes each.
const pageBlocks = 32

// blockTable holds the state and the hash of each block. It takes memory for what has come, not for the size that
// somebody has claimed.
type blockTable struct {
	pages  map[int64]*[pageBlocks]blockEntry
	counts [blockStates]int64
}

func (t *blockTable) get(block int64) blockEntry {
	if page := t.pages[block/pageBlocks]; page != nil && block >= 0 {
		return page[block%pageBlocks]
	}
	return blockEntry{}
}

func (t *blockTable) set(block int64, entry blockEntry) {
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
func (t *blockTable) count(state blockState) int64 { return t.counts[state] }

// ranges gives the blocks in a state, in order.
func (t *blockTable) ranges(state blockState) []BlockRange {
	var ranges []BlockRange
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
			ranges = append(ranges, BlockRange{First: block, Count: 1})
		}
	}
	return ranges
}

// root gives the hash of the file, from those of all blocks. No block may be missing.
func (t *blockTable) root() Sum {
	var tree Tree
	for _, number := range slices.Sorted(maps.Keys(t.pages)) {
		for _, entry := range t.pages[number] {
			if entry.state != blockMissing {
				tree.Append(entry.sum)
			}
		}
	}
	return tree.Root()
}

// setWritten notes the hash of a block that is in the file.
func (t *blockTable) setWritten(block int64, sum Sum) { t.set(block, blockEntry{blockWritten, sum}) }

// written gives the blocks that setWritten has noted, in order.
func (t *blockTable) written() []BlockRange { return t.ranges(blockWritten) }

// missingRanges gives what is not in ranges, of so many blocks.
func missingRanges(there []BlockRange, blocks int64) []BlockRange {
	var missing []BlockRange
	next := int64(0)
	for _, r := range append(there, BlockRange{First: blocks}) {
		if r.First > next {
			missing = append(missing, BlockRange{First: next, Count: r.First - next})
		}
		next = r.First + r.Count
	}
	return missing
}
