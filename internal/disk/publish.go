package disk

import (
	"errors"
	"os"
	"sync"
)

// fewestShared is how many must wait for a sync of the whole file system to be worth it: it also waits for what others
// have written there.
const fewestShared = 8

// Publisher gives files their names, each only when its content is durable, and says so only when its name is durable,
// too. Who publishes many files at once shares the syncs: all that wait are made durable by one syncfs(2), where the
// system has it, and a few by one sync for each. Its methods may be called by several goroutines at once.
type Publisher struct {
	shared *os.File     // of the file system, open since before anything was written; nil to share nothing
	syncfs func() error // of that

	turn sync.Mutex // of whoever syncs; what comes meanwhile is the next round; before mu

	mu     sync.Mutex
	next   *round
	broken bool // a shared sync has failed
}

// round are those who wait for the same sync.
type round struct {
	size   int
	shared bool // err counts; else each syncs its own
	err    error
	done   chan struct{}
}

// NewPublisher gives one for the files of a tree. What it syncs together must be written after this.
func NewPublisher(root *os.Root) (*Publisher, error) {
	p := &Publisher{}
	if !canShare {
		return p, nil
	}
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
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

// Publish syncs a file, calls rename, and syncs the directory that the file is in under both names. If the first sync
// fails, rename is not called. After an error of rename or of the second sync, the file may have its name or not.
func (p *Publisher) Publish(file File, dir *os.Root, rename func() error) error {
	share := func(own func() error) error { return own() }
	opened, ok := file.(osFile)
	shares := ok && p.shared != nil && sameFileSystem(p.shared, opened.File) // another may be mounted below the root
	if shares {
		share = p.sync
	}
	err := share(file.Sync)
	if err == nil && shares {
		// What the system wrote on its own may have failed in a round before this one.
		err = writebackError(opened.File)
	}
	if err != nil {
		return err
	}
	if err := rename(); err != nil {
		return err
	}
	return share(func() error { return InRoot{Root: dir}.SyncDir(".") })
}

// sync waits until all that was done before it is durable. If it cannot share, it calls own.
func (p *Publisher) sync(own func() error) error {
	p.mu.Lock()
	if p.broken {
		p.mu.Unlock()
		return own()
	}
	if r := p.next; r != nil {
		r.size++
		p.mu.Unlock()
		<-r.done
		if r.shared {
			return r.err
		}
		return own()
	}
	r := &round{size: 1, done: make(chan struct{})}
	p.next = r
	p.mu.Unlock()

	p.turn.Lock()
	defer p.turn.Unlock()
	p.mu.Lock()
	p.next = nil
	p.mu.Unlock()
	if r.size < fewestShared {
		close(r.done)
		return own() // in its turn, so that others gather
	}
	defer close(r.done)
	r.err = p.syncfs()
	r.shared = !errors.Is(r.err, errors.ErrUnsupported)
	if r.err != nil {
		p.mu.Lock()
		p.broken = true
		p.mu.Unlock()
	}
	if !r.shared {
		return own()
	}
	return r.err
}
