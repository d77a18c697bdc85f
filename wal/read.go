package wal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sort"

	"culvert/internal/disk"
)

// Record is an entry as it is in the log.
type Record struct {
	LSN LSN

	// Data is the payload. It is valid until the next step of the iteration.
	Data []byte

	// Last says that the entry is the last of its group.
	Last bool
}

// Records gives the entries from an LSN on that were acknowledged when the iteration began; from 0 on means from the
// first. It allocates nothing for an entry. Others may append meanwhile, and read.
//
// An error ends the iteration: [ErrTruncated] if an entry was cut off, [ErrCorrupt] in a [SegmentError], that of the
// context or of the file system, and [ErrClosed] if the log was closed before. When it is closed meanwhile, the
// iteration goes on.
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

// Tail gives the entries from an LSN on, as Records does, and then waits for more. Only what is durable is given, in
// every mode. It ends when the context ends, with the error of the context; when the log fails; with [ErrTruncated]
// after [Log.TruncateBack]; and with [ErrClosed] when the log is closed, after all entries that Close has made durable.
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

// beginRead gives the log up to an LSN to somebody who will call endRead, and needs the directory until then.
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
		if l.cuts != former.cuts { // perhaps of what was given already, and there is something else now
			l.mu.Unlock()
			return former, truncated(lsn)
		}
		if l.durable >= lsn {
			v := l.view(l.durable)
			l.mu.Unlock()
			return v, nil
		}
		err := l.failure
		if l.over { // before that, Close may still make something durable
			err = firstError(err, ErrClosed)
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
	dir   folder
	chain []*segment // must not be changed
	first LSN
	last  LSN
	cuts  uint64

	origin origin // nil if nobody changes the log
}

// origin is where a view is from.
type origin interface {
	// hasCut reports whether an entry of the view was cut off since the view was made.
	hasCut(v *view, lsn LSN) (bool, error)
}

// view gives the log up to an LSN. mu is held.
func (l *Log) view(last LSN) view {
	return view{dir: l.dir, chain: l.chain, first: l.first, last: last, cuts: l.cuts, origin: l}
}

func (l *Log) hasCut(v *view, lsn LSN) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return lsn < l.first || l.cuts != v.cuts, nil
}

// cursor is where a reader is.
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

// run gives the records up to the end of the view, and reports whether the reader wants more.
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

// fail gives an error, the last thing that the reader gets.
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

// explain says of an error whether it comes from a cut of the log.
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

// segmentOf is the segment that has an entry of the view.
func (v *view) segmentOf(lsn LSN) *segment {
	i := sort.Search(len(v.chain)-1, func(i int) bool { return v.chain[i+1].base > lsn })
	return v.chain[i]
}

// limitOf is the last LSN that a segment has in the log.
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

// read gives the next record, which is in the view.
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
	// No group goes on in another segment, but the end of one may have been cut off.
	last := f.groupEnd || f.lsn == c.limit
	return Record{LSN: f.lsn, Data: payload, Last: last}, nil
}
