package publish

import (
	"errors"
	"os"
	"sync"
	"time"
)

// fewestShared is the least number of files for which the whole file system is synced: that also waits for what other
// programs have written.
const fewestShared = 8

// longestGather bounds how long a sync waits for others to share it.
const longestGather = 100 * time.Millisecond

// Publisher gives files their names, each when its content is durable, and returns when the names are durable, too.
// Files that are published at the same time share their syncs: a few are synced one by one, many by one syncfs(2) if
// the system has it. Its methods may be called by several goroutines at once.
type Publisher struct {
	shared *os.File     // a directory, opened before anything was written; nil if nothing is shared
	syncfs func() error // of the file system of shared

	turn sync.Mutex // held by a sync, while the next round gathers; locked before mu

	mu     sync.Mutex
	next   *round
	broken bool          // a shared sync has failed
	coming int           // callers that are expected
	came   *sync.Cond    // coming has changed, or the wait has been long enough
	last   time.Duration // of the last shared sync
}

// round is a group of callers that wait for the same sync.
type round struct {
	size   int  // files
	shared bool // err is the result; otherwise each caller syncs its own files
	err    error
	done   chan struct{}
}

// NewPublisher returns a publisher for the files of a tree. They must be written after this.
func NewPublisher(root *os.Root) (*Publisher, error) {
	p := &Publisher{}
	p.came = sync.NewCond(&p.mu)
	if !canShare {
		return p, nil
	}
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	if !syncsTogether(dir) {
		return p, dir.Close()
	}
	p.shared = dir
	p.syncfs = func() error { return syncFileSystem(dir) }
	return p, nil
}

// Close must be called after the last file is published.
func (p *Publisher) Close() error {
	if p.shared == nil {
		return nil
	}
	return p.shared.Close()
}

// Publish syncs a file with its permissions and times, calls rename, and syncs the directory that has both names. If
// the first sync fails, rename is not called. If rename or the second sync fails, the file may have its name or not.
func (p *Publisher) Publish(file File, dir *os.Root, rename func() error) error {
	opened := systemFile(file)
	shares := opened != nil && p.shares(opened)
	err := p.syncOf(1, shares, file.SyncAll)
	if err == nil && shares {
		// What the system wrote by itself may have failed in an earlier round.
		err = writebackError(opened)
	}
	if err != nil {
		return err
	}
	if err := rename(); err != nil {
		return err
	}
	return p.syncOf(1, shares, func() error { return SyncDir(dir, ".") })
}

// shares reports whether a file is on the shared file system. Another one may be mounted below the root.
func (p *Publisher) shares(file descriptor) bool {
	return p.shared != nil && sameFileSystem(p.shared, file)
}

// syncOf syncs a number of files together with those of other callers, or by own.
func (p *Publisher) syncOf(files int, shares bool, own func() error) error {
	if !shares {
		return own()
	}
	return p.sync(files, 0, own)
}

// sync returns when everything that was done to a number of files is durable. It brings a number of callers that were
// expected. If it cannot share, it calls own.
func (p *Publisher) sync(files, expected int, own func() error) error {
	p.mu.Lock()
	p.coming -= expected
	p.came.Broadcast()
	if p.broken {
		p.mu.Unlock()
		return own()
	}
	if r := p.next; r != nil {
		r.size += files
		p.mu.Unlock()
		<-r.done
		if r.shared {
			return r.err
		}
		return own()
	}
	r := &round{size: files, done: make(chan struct{})}
	p.next = r
	p.mu.Unlock()

	p.turn.Lock()
	defer p.turn.Unlock()
	p.gather(r)
	if r.size < fewestShared {
		close(r.done)
		return own() // with turn held, so that others gather
	}
	defer close(r.done)
	start := time.Now()
	r.err = p.syncfs()
	r.shared = !errors.Is(r.err, errors.ErrUnsupported)
	p.mu.Lock()
	p.last = time.Since(start)
	p.broken = p.broken || r.err != nil
	p.mu.Unlock()
	if !r.shared {
		return own()
	}
	return r.err
}

// expect announces n callers that will soon publish many files, or takes back -n.
func (p *Publisher) expect(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming += n
	p.came.Broadcast()
}

// gather closes a round, with turn held. A round of many files first waits for callers that are expected, but at most
// twice the time of a sync, which hardly depends on the number of files.
func (p *Publisher) gather(r *round) {
	p.mu.Lock()
	defer p.mu.Unlock()
	patient := r.size >= fewestShared
	limit := time.AfterFunc(min(2*p.last, longestGather), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		patient = false
		p.came.Broadcast()
	})
	defer limit.Stop()
	for patient && p.coming > 0 {
		p.came.Wait()
	}
	p.next = nil
}
