package wal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sort"

	"culvert/internal/disk"
)

// Record is an entry of a log.
type Record struct {
	LSN  LSN
	Data []byte // valid until the next step of the iteration
	Last bool   // the entry is the last of its group
}

// Records returns an iterator over the entries from an LSN on that were acknowledged when the iteration began. From 0
// means from the first entry. Others may append and read meanwhile. Entries cost no allocation.
//
// An error ends the iteration: [ErrTruncated] if an entry was cut off, [ErrCorrupt] in a [SegmentError], an error of
// the context or the file system, or [ErrClosed] if the log was closed before. If the log is closed meanwhile, the
// iteration continues.
func (l *Log) Records(ctx context.Context, from LSN) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		v, err := l.beginRead(l.acknowledged)
		if err != nil {
			yield(Record{}, err)
			return
		}
		c := newCursor(from, v)
		_ = c.run(ctx, v, yield)
		c.close(yield, l.endRead)
	}
}

// Tail is like Records, but waits for more entries at the end, and returns only durable entries in every mode. It ends
// with the error of the context, with [ErrFailed], with [ErrTruncated] after [Log.TruncateBack], or with [ErrClosed]
// after all entries that Close has made durable.
func (l *Log) Tail(ctx context.Context, from LSN) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		v, err := l.beginRead(func() LSN { return l.durable })
		if err != nil {
			yield(Record{}, err)
			return
		}
		c := newCursor(from, v)
		for c.run(ctx, v, yield) {
			if v, err = l.more(ctx, v, c.next); err != nil {
				c.fail(yield, err)
			}
		}
		c.close(yield, l.endRead)
	}
}

// beginRead returns a view up to an LSN. It keeps the directory open until endRead.
func (l *Log) beginRead(last func() LSN) (view, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return view{}, ErrClosed
	}
	l.readers++
	return l.view(last()), nil
}

func (l *Log) endRead() error {
	l.mu.Lock()
	l.readers--
	unused := l.readers == 0 && l.over
	l.mu.Unlock()
	if unused {
		return l.dir.Close()
	}
	return nil
}

// more waits until an LSN is durable.
func (l *Log) more(ctx context.Context, former view, lsn LSN) (view, error) {
	for {
		l.mu.Lock()
		if l.cuts != former.cuts { // possibly of entries that were returned
			l.mu.Unlock()
			return former, truncated(lsn)
		}
		if l.durable >= lsn {
			v := l.view(l.durable)
			l.mu.Unlock()
			return v, nil
		}
		err := l.failure
		if l.over { // before that, Close may still make entries durable
			err = cmp.Or(err, ErrClosed)
		}
		if err != nil {
			l.mu.Unlock()
			return former, err
		}
		if l.progress == nil {
			l.progress = make(chan struct{})
		}
		progress := l.progress
		l.mu.Unlock()
		select {
		case <-progress:
		case <-ctx.Done():
			return former, ctx.Err()
		}
	}
}

// view is the log as a reader sees it.
type view struct {
	dir         folder
	chain       []*segment // must not be changed
	first, last LSN
	cuts        uint64
	origin      origin // nil if nobody changes the log
}

// origin is a log or a reader.
type origin interface {
	// hasCut reports whether an entry of the view was cut off since the view was made.
	hasCut(v *view, lsn LSN) (bool, error)
}

// view returns the log up to an LSN. mu is held.
func (l *Log) view(last LSN) view {
	return view{dir: l.dir, chain: l.chain, first: l.first, last: last, cuts: l.cuts, origin: l}
}

func (l *Log) hasCut(v *view, lsn LSN) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return lsn < l.first || l.cuts != v.cuts, nil
}

// cursor is the place of an iteration.
type cursor struct {
	next    LSN
	scanner *scanner // nil between segments
	file    disk.File
	buffer  []byte
	limit   LSN // of the segment
	ended   bool
}

func newCursor(from LSN, v view) *cursor {
	if from == 0 {
		from = v.first
	}
	return &cursor{next: from, buffer: make([]byte, readSize)}
}

// run yields the records up to the end of the view, and reports whether more are wanted.
func (c *cursor) run(ctx context.Context, v view, yield func(Record, error) bool) bool {
	if c.ended {
		return false
	}
	if c.next < v.first {
		return c.fail(yield, truncated(c.next))
	}
	if c.scanner != nil {
		c.scanner.refresh()
		c.limit = v.limitOf(c.scanner.segment)
	}
	for c.next <= v.last {
		if err := ctx.Err(); err != nil {
			return c.fail(yield, err)
		}
		r, err := c.read(v)
		if err != nil {
			return c.fail(yield, v.explain(err, c.next))
		}
		if !yield(r, nil) {
			c.ended = true
			return false
		}
	}
	return true
}

// fail yields an error and ends the iteration.
func (c *cursor) fail(yield func(Record, error) bool, err error) bool {
	if !c.ended {
		c.ended = true
		yield(Record{}, err)
	}
	return false
}

func (c *cursor) close(yield func(Record, error) bool, endRead func() error) {
	if err := errors.Join(c.leave(), endRead()); err != nil {
		c.fail(yield, err)
	}
}

// leave closes the segment.
func (c *cursor) leave() error {
	if c.file == nil {
		return nil
	}
	file := c.file
	c.file, c.scanner = nil, nil
	return file.Close()
}

// explain returns [ErrTruncated] for an error that comes from a cut of the log.
func (v view) explain(err error, lsn LSN) error {
	if v.origin == nil || !errors.Is(err, ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch cut, failure := v.origin.hasCut(&v, lsn); {
	case failure != nil:
		return failure
	case cut:
		return truncated(lsn)
	}
	return err
}

func truncated(lsn LSN) error { return fmt.Errorf("%w: LSN %d", ErrTruncated, lsn) }

// segmentOf returns the segment with an entry of the view.
func (v *view) segmentOf(lsn LSN) *segment {
	i := sort.Search(len(v.chain)-1, func(i int) bool { return v.chain[i+1].base > lsn })
	return v.chain[i]
}

// limitOf returns the last LSN of a segment in the view.
func (v *view) limitOf(s *segment) LSN {
	i := sort.Search(len(v.chain), func(i int) bool { return v.chain[i].number > s.number })
	if i < len(v.chain) {
		return v.chain[i].base - 1
	}
	return v.last
}

// enter opens the segment that has the next record.
func (c *cursor) enter(v view) error {
	s := v.segmentOf(c.next)
	file, err := v.dir.Open(s.name(), false)
	if err != nil {
		return &SegmentError{Segment: s.path, LSN: c.next, Err: err}
	}
	c.file, c.limit = file, v.limitOf(s)
	c.scanner = newScanner(s, file, c.buffer)
	return c.scanner.skipTo(c.next)
}

// read returns the next record, which is in the view.
func (c *cursor) read(v view) (Record, error) {
	if c.scanner != nil && c.next > c.limit {
		if err := c.leave(); err != nil {
			return Record{}, err
		}
	}
	if c.scanner == nil {
		if err := c.enter(v); err != nil {
			return Record{}, err
		}
	}
	f, verdict, err := c.scanner.scan()
	if err != nil {
		return Record{}, err
	}
	if verdict != good {
		return Record{}, c.scanner.corrupt("")
	}
	payload, err := c.scanner.unseal(f)
	if err != nil {
		return Record{}, err
	}
	c.next++
	// Groups end with the segment at the latest, and the end of a group may have been cut off.
	last := f.groupEnd || f.lsn == c.limit
	return Record{LSN: f.lsn, Data: payload, Last: last}, nil
}
