package receive

import (
	"time"

	"culvert/fileservice"
)

// A commit begins when commitBytes are written or after commitInterval. Writes wait while maxUncommitted bytes are not
// committed; a kill loses at most these.
const (
	commitBytes    = 8 << 20
	commitInterval = 200 * time.Millisecond
	maxUncommitted = 32 << 20
)

// commitNowAndThen is the goroutine of the committer.
func (r *File) commitNowAndThen() {
	timer := time.NewTimer(commitInterval)
	defer timer.Stop()
	for {
		select {
		case <-r.quit:
			return
		case <-timer.C:
		case <-r.wake:
		}
		if r.Commit() != nil {
			return // the next WriteBlock returns the error
		}
		timer.Reset(commitInterval)
	}
}

// Commit syncs the blocks written, and then records them in the journal.
func (r *File) Commit() error {
	r.commits.Lock()
	defer r.commits.Unlock()
	r.mu.Lock()
	pending, err := r.pending, r.err
	r.pending = nil
	r.mu.Unlock()
	if err != nil || len(pending) == 0 {
		return err
	}
	if err = r.file.Sync(); err == nil {
		r.forget(pending)
		err = r.appendJournal(pending)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		return r.fail(err)
	}
	for _, block := range pending {
		r.blocks.set(block, blockEntry{blockCommitted, r.blocks.get(block).sum})
	}
	r.caught.Broadcast()
	return nil
}

// forget drops blocks of a large file that were synced from the page cache, if they are in it. Memory that was just
// used is there for the next ones: to get more of it from its host, a virtual machine may take longer than to write it
// to the disk.
func (r *File) forget(blocks []int64) {
	if r.direct == nil {
		return
	}
	for _, block := range blocks {
		r.file.Forget(block*fileservice.BlockSize, fileservice.BlockSize)
	}
}
