package receive

import (
	"context"
	"io"

	"culvert/fileservice"
)

// What an earlier process has written may be another thing by now: a disk fails, a program writes into .part, a crash
// loses what the disk said it had. So a block in the journal counts only after its bytes were compared with its sum.

// IsUnread reports whether the journal names blocks that were not compared yet. They count as missing.
func (r *File) IsUnread() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocks.count(blockUnread) > 0
}

// Confirm takes over the blocks in the journal whose bytes have their sums, so that they need not be sent again. It
// reads them into buffer, which has room for a block. Blocks that cannot be read stay missing. Nothing is written
// meanwhile.
func (r *File) Confirm(ctx context.Context, buffer []byte) error {
	for _, unread := range r.unread() {
		for block := unread.First; block < unread.First+unread.Count; block++ {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			offset := block * fileservice.BlockSize
			data := buffer[:min(fileservice.BlockSize, r.version.Size-offset)]
			if n, err := r.file.ReadAt(data, offset); n == len(data) && (err == nil || err == io.EOF) {
				r.compare(block, data)
			}
		}
	}
	return nil
}

func (r *File) unread() []fileservice.BlockRange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocks.ranges(blockUnread)
}

func (r *File) compare(block int64, data []byte) {
	found := blockEntry{blockUnread, fileservice.SumBlock(data, block)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blocks.get(block) == found {
		r.blocks.set(block, blockEntry{blockCommitted, found.sum})
	}
}

// Recall takes over blocks that this process has written or read itself: those of an earlier File, which is closed.
func (r *File) Recall(earlier *File) {
	earlier.mu.Lock()
	defer earlier.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, unread := range r.blocks.ranges(blockUnread) {
		for block := unread.First; block < unread.First+unread.Count; block++ {
			known := earlier.blocks.get(block)
			if known.state == blockCommitted && known.sum == r.blocks.get(block).sum {
				r.blocks.set(block, known)
			}
		}
	}
}
