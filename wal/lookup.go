package wal

import (
	"errors"
	"fmt"
	"slices"
)

const (
	// maxLookups is how many segments reads of single entries keep open.
	maxLookups = 8

	// lookupSize is how much of a segment is read for a single entry: the distance of the marks in a large segment.
	lookupSize = 16 << 10
)

// Read appends the data of one entry to b and returns the extended slice. It finds the entry by the index of its
// segment; see "Memory" in the package documentation. The first Read in a segment makes the index and takes as long as
// reading the segment up to the entry. To read several entries in a row, use [Log.Records], which is faster.
//
// An entry that was cut off is an [ErrTruncated], and one that was not acknowledged yet an [ErrRange]. Other errors are
// [ErrCorrupt] in a [SegmentError], errors of the file system, and [ErrClosed].
func (l *Log) Read(lsn LSN, b []byte) ([]byte, error) {
	v, err := l.beginRead(l.acknowledged)
	if err != nil {
		return b, err
	}
	switch {
	case lsn < v.first:
		err = truncated(lsn)
	case lsn > v.last:
		err = fmt.Errorf("%w: LSN %d, and the last is %d", ErrRange, lsn, v.last)
	default:
		b, err = l.lookUp(&v, lsn, b)
	}
	return b, errors.Join(err, l.endRead())
}

func (l *Log) lookUp(v *view, lsn LSN, b []byte) ([]byte, error) {
	s := v.segmentOf(lsn)
	c := l.takeLookup(s)
	if c.scanner != nil && c.scanner.segment != s {
		if err := c.leave(); err != nil {
			return b, err
		}
	}
	c.next = lsn
	if c.scanner != nil {
		if err := c.scanner.restart(lsn); err != nil {
			return b, errors.Join(v.explain(err, lsn), c.leave())
		}
	}
	r, err := c.read(*v)
	if err != nil {
		return b, errors.Join(v.explain(err, lsn), c.leave())
	}
	b = append(b, r.Data...)
	return b, l.keepLookup(c)
}

// takeLookup returns a cursor for one entry. It is in the segment, or in another, or new.
func (l *Log) takeLookup(s *segment) *cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.lookups, func(c *cursor) bool { return c.scanner.segment == s })
	if i < 0 && len(l.lookups) < maxLookups {
		return &cursor{buffer: make([]byte, lookupSize)}
	}
	i = max(i, 0) // the oldest
	c := l.lookups[i]
	l.lookups = slices.Delete(l.lookups, i, i+1)
	return c
}

// keepLookup keeps a cursor for the next read, unless its segment was removed or it holds a large entry.
func (l *Log) keepLookup(c *cursor) error {
	l.mu.Lock()
	keep := !l.over && len(l.lookups) < maxLookups && len(c.scanner.buffer) <= batchSize && l.has(c.scanner.segment)
	if keep {
		l.lookups = append(l.lookups, c)
	}
	l.mu.Unlock()
	if keep {
		return nil
	}
	return c.leave()
}

// dropLookups returns the cursors whose segments are to be removed, for the caller to close. mu is held.
func (l *Log) dropLookups() (unused []*cursor) {
	l.lookups = slices.DeleteFunc(l.lookups, func(c *cursor) bool {
		gone := l.over || !l.has(c.scanner.segment)
		if gone {
			unused = append(unused, c)
		}
		return gone
	})
	return unused
}

// has reports whether a segment is in the log. mu is held.
func (l *Log) has(s *segment) bool {
	v := view{chain: l.chain}
	return len(l.chain) > 0 && v.segmentOf(s.base) == s
}
