package transfer

import (
	"time"

	"culvert/fileservice"
)

// The number of blocks of one call.
const (
	minRange   = 4 // if enough are left
	maxRange   = 64
	leastShare = 4 // if few are left, a call takes at least this fraction of perCall
)

// takeRange takes blocks of the first begun file. A call gets fewer blocks when few are left, so that all workers end
// at about the same time, but enough to be worth the wait for its first block. mu is held.
func (t *transfer) takeRange() (*item, fileservice.BlockRange) {
	it := t.begun[0]
	left := int64(0)
	for _, r := range it.ranges {
		left += r.Count
	}
	blocks := it.ranges[0]
	if !it.whole {
		count := min(blocks.Count, t.perCall, max(t.perCall/leastShare, left/int64(2*t.most())))
		if aligned, is := it.mover.(interface {
			align(begin, end, most int64) int64
		}); is {
			count = aligned.align(blocks.First, blocks.First+count, blocks.First+blocks.Count) - blocks.First
		}
		blocks.Count = min(blocks.Count, count)
	}
	it.ranges[0].First += blocks.Count
	it.ranges[0].Count -= blocks.Count
	if it.ranges[0].Count == 0 {
		it.ranges = it.ranges[1:]
	}
	if len(it.ranges) == 0 {
		t.begun = t.begun[1:]
	}
	it.moving++
	return it, blocks
}

// expect sets the initial length of calls from the delay of an answer. It assumes 160 MB/s for each call, more than
// most long lines carry.
func (t *transfer) expect(delay time.Duration) {
	const perBlock = fileservice.BlockSize * time.Second / 160e6
	t.mu.Lock()
	defer t.mu.Unlock()
	t.perCall = max(t.perCall, min(int64(delay/perBlock), maxRange/2))
}

// adapt lengthens calls until the wait for their first block is short in comparison, but not beyond two seconds. mu is
// held.
func (t *transfer) adapt(first, all time.Duration) {
	switch {
	case all < 4*first:
		t.perCall = min(2*t.perCall, maxRange)
	case all > 2*time.Second:
		t.perCall = max(t.perCall/2, 1)
	}
}
