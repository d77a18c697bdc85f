package export

import "errors"

// commits are the files that are committed while the next one is written.
type commits struct {
	underway []commit // the oldest first

	// alone: a file is complete. Until then, another export to the same place may take the first name. If this one went
	// on meanwhile, each of the two could take names from the other, and both would fail.
	alone bool
}

// commit is the commit of a file.
type commit struct {
	held   int64             // bytes that may be in memory until it ends
	result chan error        // of the file
	ended  func(error) error // records it, and returns the error that stops the export
}

const (
	// maxCommits bounds the files that wait for the disk at the same time. A file system often combines concurrent
	// syncs.
	maxCommits = 8

	// maxWaiting bounds what these files may have in memory: a place such as a bucket sends files of up to heldOfFile
	// only when they are committed.
	maxWaiting = 16 << 20
	heldOfFile = 8 << 20
)

// begin starts to commit a file, as soon as another commit may be under way, of a file that may have so many bytes in
// memory. It returns the errors of those that have ended meanwhile.
func (c *commits) begin(out *output, ended func(error) error) error {
	held := min(out.stats.Out, heldOfFile)
	most, waiting := 0, held
	for i := len(c.underway) - 1; i >= 0 && most < maxCommits-1; i-- {
		if waiting += c.underway[i].held; waiting > maxWaiting {
			break
		}
		most++
	}
	if err := c.settle(most); err != nil {
		return errors.Join(err, out.discard())
	}
	one := commit{held: held, result: make(chan error, 1), ended: ended}
	c.underway = append(c.underway, one)
	go func() { one.result <- out.commit() }()
	if c.alone {
		return nil
	}
	c.alone = true
	return c.settle(0)
}

// settle waits until no more than most commits are under way, and records the results of the others.
func (c *commits) settle(most int) error {
	var errs []error
	for len(c.underway) > most || len(c.underway) > 0 && len(c.underway[0].result) > 0 {
		one := c.underway[0]
		c.underway = c.underway[1:]
		errs = append(errs, one.ended(<-one.result))
	}
	return errors.Join(errs...)
}
