package receive

import (
	"maps"
	"slices"

	"culvert/fileservice"
)

// blockState is the progress of a block.
type blockState uint8

const (
	blockMissing   blockState = iota
	blockUnread               // in the journal that was found, and not compared yet
	blockClaimed              // being written
	blockWritten              // in the file
	blockCommitted            // durable, and in the journal
	blockStates
)

type blockEntry struct {
	state blockState
	sum   fileservice.Sum
}

// pageBlocks is the number of blocks in a page of the table, of 17 bytes each.
const pageBlocks = 32

// A Table holds the state and the sum of each block. Its memory grows with the blocks received, not with the size that
// a peer claims.
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

// isHere reports whether the block is in the file, or is being written to it.
func (e blockEntry) isHere() bool { return e.state > blockUnread }

// count returns the number of blocks in a state other than blockMissing.
func (t *Table) count(state blockState) int64 { return t.counts[state] }

// ranges returns the blocks in a state, in order.
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

// Sum returns the sum of the file. No block may be missing.
func (t *Table) Sum() fileservice.Sum {
	var file fileservice.FileSum
	for _, number := range slices.Sorted(maps.Keys(t.pages)) {
		for _, entry := range t.pages[number] {
			if entry.state != blockMissing {
				file.Append(entry.sum)
			}
		}
	}
	return file.Sum()
}

// SetWritten records the sum of a block that is in the file.
func (t *Table) SetWritten(block int64, sum fileservice.Sum) {
	t.set(block, blockEntry{blockWritten, sum})
}

// Written returns the blocks that SetWritten has recorded, in order.
func (t *Table) Written() []fileservice.BlockRange { return t.ranges(blockWritten) }

// MissingRanges returns the blocks from 0 to blocks-1 that are not in the ranges there.
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
