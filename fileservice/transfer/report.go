package transfer

import (
	"fmt"
	"io/fs"
	"math"
	"time"

	"culvert/fileservice"
)

const maxFaults = 100 // kept in a Result

// count ends an item.
func (t *transfer) count(it *item, event Event, count func(*Result)) {
	event.Name, event.Size = it.name, it.size
	t.report(event)
	if event.Kind != FileFailed {
		t.progress.filesDone.Add(1)
	}
	defer t.tree.done(it.name)
	t.mu.Lock()
	defer t.mu.Unlock()
	count(&t.result)
	t.unended--
	t.changed.Broadcast()
}

func (t *transfer) fault(it *item, err error) {
	t.count(it, Event{Kind: FileFailed, Err: err}, func(r *Result) { r.fail(it.name, err) })
}

func (r *Result) fail(name string, err error) {
	r.Failed++
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, Fault{name, err})
	}
}

// countTime counts the modification time of a copy, if it is the nearest one that a version can have.
func (r *Result) countTime(modified time.Time) {
	switch fileservice.UnixNano(modified) {
	case math.MinInt64, math.MaxInt64:
		r.OtherTimes++
	}
}

// dirTimeSet is countTime for a directory, unless there is an error, which it returns.
func (t *transfer) dirTimeSet(modified time.Time, err error) error {
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.result.countTime(modified)
	}
	return err
}

// fail counts a fault of something that is not in the queue, such as a directory.
func (t *transfer) fail(name string, err error) {
	t.report(Event{Kind: FileFailed, Name: name, Err: err})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.fail(name, err)
}

// failPath is fail for a path that is invalid at the destination.
func (t *transfer) failPath(name string, err error) {
	t.fail(name, &fs.PathError{Op: "transfer", Path: name, Err: err})
}

// skip counts a file that is not transferred.
func (t *transfer) skip(name string, err error) {
	t.report(Event{Kind: FileSkipped, Name: name, Err: err})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Skipped++
}

// plan returns an item, or counts it in a dry run and returns nil.
func (t *transfer) plan(it *item) *item {
	if !t.config.DryRun {
		return it
	}
	var present bool
	err := t.try(func() (err error) {
		present, err = it.mover.isPresent(t.ctx)
		return err
	})
	if err != nil {
		t.fail(it.name, err)
		return nil
	}
	kind := FilePlanned
	if present {
		kind = FilePresent
	}
	t.report(Event{Kind: kind, Name: it.name, Size: it.size})
	t.mu.Lock()
	defer t.mu.Unlock()
	if present {
		t.result.Present++
		return nil
	}
	t.result.Files++
	t.result.Bytes += it.size
	return nil
}

func (t *transfer) report(event Event) {
	if t.config.Notify == nil {
		return
	}
	t.reporting.Lock()
	defer t.reporting.Unlock()
	t.config.Notify(event)
}

// fault returns the error of a transfer that ran to its end.
func (r *Result) fault() error {
	switch {
	case r.Failed == 0:
		return nil
	case r.Failed == 1 && r.Files+r.Present+r.Skipped == 0:
		return r.Faults[0].Err
	}
	all := r.Failed + r.Files + r.Present
	return fmt.Errorf("%w: %d of %d failed, the first: %w", ErrPartial, r.Failed, all, r.Faults[0].Err)
}
