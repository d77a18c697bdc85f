package wal

import (
	"errors"
	"fmt"
	"slices"
)

const (
	maxLookups = 8        // segments that Read keeps open
	lookupSize = 16 << 10 // what Read reads at a time: the distance of marks in a segment of 64 MiB
)

// Read appends the data of one entry to b and returns the extended slice. It finds the entry by the index of the
// segment, see "Memory" in the package documentation. The first Read in a segment fills the index, and takes as long as
// reading the segment up to the entry. For entries in a row, [Log.Records] is faster.
//
// Errors are [ErrTruncated] for an entry that was cut off, [ErrRange] for one that was not acknowledged yet,
// [ErrClosed], [ErrCorrupt] in a [SegmentError], and errors of the file system.
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
	c.next = lsn
	var err error
	switch {
	case c.scanner == nil:
	case c.scanner.segment == s:
		err = c.scanner.restart(lsn)
	default:
		c.limit = 0 // so that it leaves its segment
	}
	var r Record
	if err == nil {
		r, err = c.read(*v)
	}
	if err != nil {
		return b, errors.Join(v.explain(err, lsn), c.leave())
	}
	return append(b, r.Data...), l.keepLookup(c)
}

// takeLookup returns a cursor, if possible one in the segment.
func (l *Log) takeLookup(s *segment) *cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.lookups, func(c *cursor) bool { return c.scanner.segment == s })
	if i < 0 && len(l.lookups) < maxLookups {
		return &cursor{buffer: make([]byte, lookupSize)}
	}
	i = max(i, 0) // if none matches, the least recently used one
	c := l.lookups[i]
	l.lookups = slices.Delete(l.lookups, i, i+1)
	return c
}

// keepLookup keeps a cursor for the next Read, unless its segment was removed or its buffer has grown large.
func (l *Log) keepLookup(c *cursor) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || len(l.lookups) == maxLookups || len(c.scanner.buffer) > batchSize || !l.has(c.scanner.segment) {
		return c.leave()
	}
	l.lookups = append(l.lookups, c)
	return nil
}

// dropLookups removes the cursors whose segments are no longer needed, for the caller to close. mu is held.
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
