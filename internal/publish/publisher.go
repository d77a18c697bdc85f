package publish

import (
	"errors"
	"os"
	"sync"
	"time"
)

// fewestShared is how many must wait for a sync of the whole file system to be worth it: it also waits for what others
// have written there.
const fewestShared = 8

// longestGather bounds how long a sync is put off for others to share it.
const longestGather = 100 * time.Millisecond

// Publisher gives files their names, each only when its content is durable, and says so only when its name is durable,
// too. Who publishes many files at once shares the syncs: all that wait are made durable by one syncfs(2), where the
// system has it, and a few by one sync for each. Its methods may be called by several goroutines at once.
type Publisher struct {
	shared *os.File     // of the file system, open since before anything was written; nil to share nothing
	syncfs func() error // of that

	turn sync.Mutex // of whoever syncs; what comes meanwhile is the next round; before mu

	mu     sync.Mutex
	next   *round
	broken bool          // a shared sync has failed
	coming int           // those who are expected
	came   *sync.Cond    // somebody who was expected, or it has been waited long enough
	last   time.Duration // that a shared sync took
}

// round are those who wait for the same sync.
type round struct {
	size   int  // files
	shared bool // err counts; else each syncs its own
	err    error
	done   chan struct{}
}

// NewPublisher gives one for the files of a tree. What it syncs together must be written after this.
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

// Close is for when nobody publishes any more.
func (p *Publisher) Close() error {
	if p.shared == nil {
		return nil
	}
	return p.shared.Close()
}

// Publish syncs a file with its permissions and times, calls rename, and syncs the directory that the file is in under
// both names. If the first sync fails, rename is not called. After an error of rename or of the second sync, the file
// may have its name or not.
func (p *Publisher) Publish(file File, dir *os.Root, rename func() error) error {
	opened := systemFile(file)
	shares := opened != nil && p.shares(opened)
	err := p.syncOf(1, shares, file.SyncAll)
	if err == nil && shares {
		// What the system wrote on its own may have failed in a round before this one.
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

// shares reports whether a file is on the file system that is synced. Another may be mounted below the root.
func (p *Publisher) shares(file descriptor) bool {
	return p.shared != nil && sameFileSystem(p.shared, file)
}

// syncOf has so many files synced with those of others, or by own.
func (p *Publisher) syncOf(files int, shares bool, own func() error) error {
	if !shares {
		return own()
	}
	return p.sync(files, 0, own)
}

// sync waits until all that was done before it, to so many files, is durable. So many that were expected come with
// them. If it cannot share, it calls own.
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
		return own() // in its turn, so that others gather
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

// expect says that so many will publish many files soon, or that they have come.
func (p *Publisher) expect(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming += n
	p.came.Broadcast()
}

// gather ends a round, of which the turn has come. Many files wait for others that are on their way, and not longer
// than twice the time of a sync, since what the disk does in it hardly depends on how many they are.
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
