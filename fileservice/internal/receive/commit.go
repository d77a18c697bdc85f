package receive

import (
	"time"
)

// How far what is written may be ahead of what is committed. A commit begins with the first of both, and blocks have to
// wait while maxUncommitted are ahead of it: that is what a kill costs at most.
const (
	commitBytes    = 8 << 20
	commitInterval = 200 * time.Millisecond
	maxUncommitted = 32 << 20
)

// commitNowAndThen is the committer, a goroutine.
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
			return // the next writeBlock tells it
		}
		timer.Reset(commitInterval)
	}
}

// Commit makes durable what is written, and then says so in the journal.
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
