package wal

import (
	"cmp"
	"slices"
	"sync"
)

const (
	// markDistance is how far the marks of an index are apart, until they become too many.
	markDistance = 4 << 10

	// maxMarks bounds an index to 64 KiB.
	maxMarks = 4096
)

// index notes where some records of a segment begin, so that a record is found without reading all records before it.
// It is filled when records are searched for, from the first record on. Its methods may be called concurrently.
type index struct {
	mu       sync.Mutex
	marks    []mark
	distance int64 // of further marks; 0 is markDistance
}

// mark is the place of a record.
type mark struct {
	lsn    LSN
	offset int64
}

// add notes the place of a record, unless a mark is near. It returns the offset from which on it wants the next one.
func (x *index) add(m mark) (next int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if m.offset >= x.next() {
		if len(x.marks) == maxMarks {
			x.halve()
		}
		if n := len(x.marks); n == cap(x.marks) {
			x.marks = append(make([]mark, 0, min(max(2*n, 16), maxMarks)), x.marks...)
		}
		x.marks = append(x.marks, m)
	}
	return x.next()
}

func (x *index) next() int64 {
	last := int64(headerSize)
	if n := len(x.marks); n > 0 {
		last = x.marks[n-1].offset
	}
	return last + max(x.distance, markDistance)
}

// halve removes every other mark. Further marks are as far apart as the others are then.
func (x *index) halve() {
	x.distance = (x.marks[maxMarks-1].offset - headerSize) / (maxMarks / 2)
	for i := range x.marks[:maxMarks/2] {
		x.marks[i] = x.marks[2*i+1]
	}
	x.marks = x.marks[:maxMarks/2]
}

// before returns the last mark that is not behind a record.
func (x *index) before(lsn LSN) (m mark, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i, found := slices.BinarySearchFunc(x.marks, lsn, func(m mark, lsn LSN) int { return cmp.Compare(m.lsn, lsn) })
	if !found {
		i--
	}
	if i < 0 {
		return mark{}, false
	}
	return x.marks[i], true
}

// mark notes the place of the next record in the index of the segment.
func (s *scanner) mark() {
	if s.offset >= s.marking {
		s.marking = s.segment.index.add(mark{s.next, s.offset})
	}
}
