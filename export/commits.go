package export

import (
	"errors"
	"sync"

	"culvert/place"
)

// commits are the complete files that are committed while others are written. Its methods may be called concurrently.
//
// Files of a place that commits several together ([place.Grouped]) wait for the commit that is under way, and are
// committed together after it. Small ones also wait for others, up to minGrouped, or until one that is being written is
// large ([commits.hurry]), or to the end: a sync takes about as long for one of them as for all. Others are committed
// one by one, several at the same time. So a complete file never waits until a large one is complete.
type commits struct {
	mu      sync.Mutex
	changed *sync.Cond
	waiting []commit
	count   int   // of files that wait or are committed
	held    int64 // bytes that these may have in memory
	working int   // goroutines
	hurried int   // those that wait for the end of commits
	due     bool  // those that wait are not to wait for others
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

	// maxGrouped is maxCommits for files that are committed together. Each has an open descriptor.
	maxGrouped = 128

	// minGrouped and minBytes are the files, and their bytes, that are worth a commit before the end: small files of
	// fewer are committed together with those that follow.
	minGrouped = 32
	minBytes   = 1 << 20

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
	c.wait(func() bool { return c.count < most && c.held+held <= maxWaiting })
	if err := c.takeErrors(); err != nil {
		return errors.Join(err, out.discard())
	}
	c.waiting = append(c.waiting, commit{out, held, ended})
	c.count++
	c.held += held
	if c.working < goroutines {
		c.start()
	}
	if c.alone {
		return nil
	}
	c.alone = true
	c.wait(c.hasNone)
	return c.takeErrors()
}

// hurry commits the files that wait for others, since one that is being written is large: it may take hours.
func (c *commits) hurry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = len(c.waiting) > 0
	if c.working == 0 {
		c.start()
	}
}

// start commits the files that should be committed now, if there are any. The lock must be held.
func (c *commits) start() {
	if c.isDue() {
		c.working++
		go c.work()
	}
}

func (c *commits) hasNone() bool { return c.count == 0 }

// isDue reports whether files that wait should be committed now. The lock must be held.
func (c *commits) isDue() bool {
	if len(c.waiting) == 0 {
		return false
	}
	if _, is := c.waiting[0].out.file.(place.Grouped); !is || c.due || c.hurried > 0 || len(c.waiting) >= minGrouped {
		return true
	}
	bytes := int64(0)
	for _, one := range c.waiting {
		bytes += one.out.stats.Out
	}
	return bytes >= minBytes
}

// wait waits for commits to end, until there is what the caller needs, or no file is left. The lock must be held.
func (c *commits) wait(enough func() bool) {
	c.hurried++
	defer func() { c.hurried-- }()
	for c.count > 0 && !enough() {
		if c.working == 0 { // all that are left wait for others
			c.working++
			go c.work()
		}
		c.changed.Wait()
	}
}

// work commits files until none waits that should be committed now.
func (c *commits) work() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.isDue() {
		n := 1
		if _, is := c.waiting[0].out.file.(place.Grouped); is {
			n = len(c.waiting)
		}
		some := c.waiting[:n:n]
		c.waiting = c.waiting[n:]
		c.due = c.due && len(c.waiting) > 0
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
	if c.count > 0 {
		c.wait(c.hasNone)
	}
	return c.takeErrors()
}

// takeErrors returns the errors of files that have been committed since it was last called.
func (c *commits) takeErrors() error {
	err := errors.Join(c.errs...)
	c.errs = nil
	return err
}
