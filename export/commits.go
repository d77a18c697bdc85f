package export

import (
	"errors"
	"sync"

	"culvert/place"
)

// commits are the complete files that are committed while others are written. Its methods may be called concurrently.
//
// Files of a place that commits several together ([place.Grouped]) wait for the commit that is under way, and are
// committed together after it. Others are committed one by one, several at the same time. So files never wait for the
// next one to be written.
type commits struct {
	mu      sync.Mutex
	changed *sync.Cond
	waiting []commit
	count   int   // of files that wait or are committed
	held    int64 // bytes that these may have in memory
	working int   // goroutines
	errs    []error

	// alone: a file is complete. Until then, another export to the same place may take the first name. If this one went
	// on meanwhile, each of the two could take names from the other, and both would fail.
	alone bool
}

// commit is the commit of a file.
type commit struct {
	out   *output
	held  int64
	ended func(error) error // records it, and returns the error that stops the export
}

const (
	// maxCommits bounds the files that wait for the disk at the same time. A file system often combines concurrent
	// syncs.
	maxCommits = 8

	// maxGrouped is maxCommits for files that are committed together. Each has two open descriptors.
	maxGrouped = 128

	// maxWaiting bounds what these files may have in memory: a place such as a bucket sends files of up to heldOfFile
	// only when they are committed.
	maxWaiting = 16 << 20
	heldOfFile = 8 << 20
)

// begin starts to commit a file, as soon as there is room among those that are committed. It returns the errors of
// those that have ended meanwhile.
func (c *commits) begin(out *output, ended func(error) error) error {
	held := min(out.stats.Out, heldOfFile)
	most, goroutines := maxCommits, maxCommits
	if _, is := out.file.(place.Grouped); is {
		most, goroutines = maxGrouped, 1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = sync.NewCond(&c.mu)
	}
	for c.count > 0 && (c.count >= most || c.held+held > maxWaiting) {
		c.changed.Wait()
	}
	if err := c.takeErrors(); err != nil {
		return errors.Join(err, out.discard())
	}
	c.waiting = append(c.waiting, commit{out, held, ended})
	c.count++
	c.held += held
	if c.working < goroutines {
		c.working++
		go c.work()
	}
	if c.alone {
		return nil
	}
	c.alone = true
	for c.count > 0 {
		c.changed.Wait()
	}
	return c.takeErrors()
}

// work commits files until none waits.
func (c *commits) work() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) > 0 {
		n := 1
		if _, is := c.waiting[0].out.file.(place.Grouped); is {
			n = len(c.waiting)
		}
		some := c.waiting[:n:n]
		c.waiting = c.waiting[n:]
		c.mu.Unlock()
		errs := commitAll(some)
		c.mu.Lock()
		for i, one := range some {
			c.count--
			c.held -= one.held
			if errs[i] != nil {
				c.errs = append(c.errs, errs[i])
			}
		}
		c.changed.Broadcast()
	}
	c.working--
}

// commitAll commits files, and returns the errors that stop the export.
func commitAll(some []commit) []error {
	errs := make([]error, len(some))
	if group, is := some[0].out.file.(place.Grouped); is && len(some) > 1 {
		files := make([]place.File, len(some))
		for i, one := range some {
			files[i] = one.out.file
		}
		for i, err := range group.CommitAll(files) {
			errs[i] = some[i].ended(some[i].out.committed(err))
		}
		return errs
	}
	for i, one := range some {
		errs[i] = one.ended(one.out.commit())
	}
	return errs
}

// settle waits until all files are committed.
func (c *commits) settle() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.count > 0 {
		c.changed.Wait()
	}
	return c.takeErrors()
}

// takeErrors returns the errors of files that have been committed since it was last called.
func (c *commits) takeErrors() error {
	err := errors.Join(c.errs...)
	c.errs = nil
	return err
}
