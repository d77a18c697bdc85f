package publish

import (
	"errors"
	"path/filepath"
)

// Commit is [Writer.Commit] for several files of the tree, which share their syncs. It returns an error for each, in
// their order.
func (p *Publisher) Commit(writers []*Writer, replace func(i int) bool) []error {
	errs := make([]error, len(writers))
	shares := p.syncContents(writers, errs)
	directories, of := []*Writer{}, map[string]int{}
	for i, w := range writers {
		if errs[i] != nil {
			errs[i] = errors.Join(errs[i], w.Discard())
			continue
		}
		if errs[i] = w.rename(replace(i)); errs[i] != nil {
			continue
		}
		if directory := filepath.Dir(w.path); of[directory] == 0 {
			directories = append(directories, w)
			of[directory] = len(directories)
		}
	}
	results := p.syncDirectories(directories, shares)
	for i, w := range writers {
		if errs[i] == nil {
			errs[i] = w.named(results[of[filepath.Dir(w.path)]-1])
		}
	}
	return errs
}

// syncContents makes what was written to files durable, and sets the error of each. It reports whether all are on the
// shared file system.
func (p *Publisher) syncContents(writers []*Writer, errs []error) (shares bool) {
	shares = true
	for i, w := range writers {
		errs[i] = w.err
		shares = shares && w.err == nil && p.shares(w.file)
	}
	own := func() error {
		for i, w := range writers {
			errs[i] = w.sync()
		}
		return nil
	}
	if !shares {
		_ = own() // it keeps the errors
		return false
	}
	err := p.syncOf(len(writers), true, own)
	for i, w := range writers {
		if errs[i] == nil {
			errs[i] = err
		}
		if errs[i] == nil {
			// What the system wrote by itself may have failed in an earlier round.
			errs[i] = writebackError(w.file)
		}
		if errs[i] != nil {
			errs[i] = w.explain(errs[i])
		}
	}
	return true
}

// syncDirectories makes the names in the directories of files durable, and returns the error of each.
func (p *Publisher) syncDirectories(of []*Writer, shares bool) []error {
	errs := make([]error, len(of))
	err := p.syncOf(len(of), shares && len(of) >= fewestShared, func() error {
		for i, w := range of {
			errs[i] = w.dir.Sync()
		}
		return nil
	})
	for i := range errs {
		errs[i] = errors.Join(errs[i], err)
	}
	return errs
}
